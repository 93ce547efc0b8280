"""The front door: the names most people need, loaded when they are asked for.

>>> from polycontext import ContextSession
>>> ContextSession(max_tokens=1000).state
<ContextState.EMPTY: 'EMPTY'>
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycontext.linearity import PolycontextError, ResourceClass
    from polycontext.polynomial import ContextOverflowError, ContextSession, ContextState, project
    from polycontext.pressure import ExtractiveSummariser
    from polycontext.window import ToolCall, Turn

_ROOM_OF = {
    "ContextOverflowError": "polynomial",
    "ContextSession": "polynomial",
    "ContextState": "polynomial",
    "ExtractiveSummariser": "pressure",
    "PolycontextError": "linearity",
    "ResourceClass": "linearity",
    "ToolCall": "window",
    "Turn": "window",
    "project": "polynomial",
}

__all__ = [
    "ContextOverflowError",
    "ContextSession",
    "ContextState",
    "ExtractiveSummariser",
    "PolycontextError",
    "ResourceClass",
    "ToolCall",
    "Turn",
    "project",
]


def __getattr__(name: str) -> Any:
    """Return a name from the room that holds it; importing this package alone loads none of them."""
    if name not in _ROOM_OF:
        message = f"module 'polycontext' has no attribute {name!r}; legal: {', '.join(__all__)}"
        raise AttributeError(message)
    value = getattr(import_module(f"polycontext.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
