"""How a law's parameter is drawn: by a strategy that may look at what was drawn before it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import frozen
from hypothesis import strategies as st

Known = Mapping[str, Any]
Drawing = Callable[[Known], st.SearchStrategy[Any]]
Drawings = Mapping[str, Drawing]

NOTHING: Final[Known] = MappingProxyType({})


def always(strategy: st.SearchStrategy[Any]) -> Drawing:
    """Draw from `strategy`, whatever was drawn before."""
    return lambda known: strategy


def one_of(*values: Any) -> Drawing:
    """Draw one of `values`."""
    return always(st.sampled_from(values))


@frozen(repr=False)
class Named:
    """Be a function that a counterexample can show by name."""

    name: str
    function: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        """Apply the function."""
        return self.function(value)

    def __repr__(self) -> str:
        return self.name
