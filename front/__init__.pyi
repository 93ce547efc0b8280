from .linearity import PolycontextError, ResourceClass
from .polynomial import ContextOverflowError, ContextSession, ContextState, project
from .pressure import ExtractiveSummariser
from .window import ToolCall, Turn

__version__: str

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
