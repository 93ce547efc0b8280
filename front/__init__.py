"""The top-level package: the most used names, each loaded on first access.

>>> from polycontext import ContextSession
>>> ContextSession(max_tokens=1000).state
<ContextState.EMPTY: 'EMPTY'>
"""

from typing import Any

import lazy_loader

# The names are declared in `__init__.pyi`; each is loaded on first access.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - slow to import

        return version(__name__)
    return _load(name)
