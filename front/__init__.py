"""The front door: the names most people need, each loaded when it is first asked for.

>>> from polycontext import ContextSession
>>> ContextSession(max_tokens=1000).state
<ContextState.EMPTY: 'EMPTY'>
"""

from typing import Any

import lazy_loader

# The names stand in `__init__.pyi`; each is loaded when it is first asked for.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - reading what is installed takes longer than all else here

        return version(__name__)
    return _load(name)
