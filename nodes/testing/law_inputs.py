"""What a law quantifies over: for every name that a law's parameter may have, how to draw a value.

Some values make sense beside others only (a position of that store, views over one log),
so a strategy is made knowing what was drawn before it, and a law's inputs are
drawn together, in the order of `PARAMETERS`.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from attrs import define
from hypothesis import strategies as st

from polycontext.linearity import CallerError
from polycontext.linearity.law import Law
from polycontext.nodes.testing.drawing import NOTHING, Drawings, Known
from polycontext.nodes.testing.machine_inputs import MACHINE_PARAMETERS
from polycontext.nodes.testing.pressure_inputs import PRESSURE_PARAMETERS
from polycontext.nodes.testing.window_inputs import WINDOW_PARAMETERS, any_positions, any_turns

Strategies = Mapping[str, st.SearchStrategy[Any]]


@define(slots=False, eq=False)
class UnknownParameterError(CallerError, KeyError):
    """Refuse the name of a parameter that no strategy is known for."""

    parameter: str
    legal: tuple[str, ...]

    def __str__(self) -> str:
        near = get_close_matches(self.parameter, self.legal)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"legal: {', '.join(self.legal)}"
        return f"no strategy for a parameter {self.parameter!r}; {hint}"


PARAMETERS: Final[Drawings] = MappingProxyType({**WINDOW_PARAMETERS, **PRESSURE_PARAMETERS, **MACHINE_PARAMETERS})
"""How to draw each parameter that a law may have, in the order in which they are drawn."""

WIDER: Final[Mapping[str, Drawings]] = MappingProxyType(
    {
        "positions_outside_are_refused": {"position": any_positions},
        "calls_are_answered_before_anything_else": {"turn": any_turns},
        "a_turn_costs_its_text_and_framing": {"turn": any_turns},
    }
)
"""Laws that say "any" of what others take within bounds: by the names of law and parameter."""

_PLACES = {name: place for place, name in enumerate(PARAMETERS)}


def for_parameter(name: str, known: Known = NOTHING) -> st.SearchStrategy[Any]:
    """Return the strategy for a law's parameter `name`; `known` are inputs that were drawn before it.

    Raises:
        UnknownParameterError: no law has such a parameter.

    >>> from polycontext.window import Store
    >>> for_parameter("position", {"store": Store(str, last=2)})
    integers(min_value=0, max_value=2)
    """
    if name not in PARAMETERS:
        raise UnknownParameterError(name, tuple(PARAMETERS))
    return PARAMETERS[name](known)


@st.composite
def inputs_of(draw: st.DrawFn, law: Law, bound: Strategies = NOTHING) -> dict[str, Any]:
    """Draw all that `law` takes, together; the parameters in `bound` from there.

    Raises:
        UnknownParameterError: it takes what is neither bound nor known.
    """
    known: dict[str, Any] = {}
    for name in sorted(law.parameters, key=lambda name: _PLACES.get(name, len(_PLACES))):
        known[name] = draw(bound[name] if name in bound else _usual(law, name, known))
    return known


def _usual(law: Law, name: str, known: Known) -> st.SearchStrategy[Any]:
    wider = WIDER.get(law.name, {})
    return wider[name](known) if name in wider else for_parameter(name, known)
