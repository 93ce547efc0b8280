"""Tools for tests.

- Hypothesis strategies, a law runner and the store contract (extra `laws`).
- Scripted models.
- Strict providers (`.strict`).

Each strategy is biased towards the edges where context code breaks: empty conversations, one turn,
open atoms, reused call ids, equal timestamps, hostile and multilingual text, budgets far too small,
windows that were compressed many times. `for_parameter` finds the strategy for a law's parameter by
its name.

    from hypothesis import given
    from polycontext.testing import windows

    @given(windows())
    def test_my_summary_never_grows(window): ...
"""

from typing import Any

import lazy_loader

from polycontext.base import require_extra

# The names are listed in `__init__.pyi`; each is loaded on first access.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name == "hypothesis":
            require_extra("hypothesis", extra="laws", purpose=f"polycontext.testing.{name}")
        raise
