"""The front door: the names most people need, each loaded when it is first asked for.

>>> from polycontext import ContextSession
>>> ContextSession(max_tokens=1000).state
<ContextState.EMPTY: 'EMPTY'>
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from polycontext.linearity import PolycontextError, ResourceClass
    from polycontext.polynomial import ContextOverflowError, ContextSession, ContextState, project
    from polycontext.pressure import ExtractiveSummariser
    from polycontext.window import ToolCall, Turn

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

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "linearity": ["PolycontextError", "ResourceClass"],
        "window": ["ToolCall", "Turn"],
        "pressure": ["ExtractiveSummariser"],
        "polynomial": ["ContextOverflowError", "ContextSession", "ContextState", "project"],
    },
)
