"""The top-level package: the most used names, each loaded on first access.

>>> from polycontext import ContextSession
>>> ContextSession(max_tokens=1000).state
<ContextState.EMPTY: 'EMPTY'>
"""

from typing import Any

import lazy_loader

# The names are declared in `__init__.pyi`; each is loaded on first access.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


_ELSEWHERE = {
    "Agent": "polycontext.agents",
    "FixedThreshold": "polycontext.pressure",
    "SQLiteStore": "polycontext.polynomial.stores",
    "wrap": "polycontext.adapters.openai, or .anthropic",
}
"""What people import from here, and where it is."""


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        raise ImportError(f"{name} is not in polycontext. Import it from {_ELSEWHERE[name]}.")
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - slow to import

        return version(__name__)
    if name[0].isupper() and name not in __all__:
        from polycontext.base import did_you_mean, similar  # noqa: PLC0415 - errors are rare

        if meant := did_you_mean(similar(name, __all__, 1)):
            raise ImportError(f"{name} is not in polycontext.{meant}")
    return _load(name)
