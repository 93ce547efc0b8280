from .base import PolycontextError
from .linearity import ResourceClass
from .polynomial import (
    CONTEXT_POLYNOMIAL,
    ContextInput,
    ContextMachine,
    ContextOverflowError,
    ContextSession,
    ContextState,
    project,
)
from .pressure import ExtractiveSummariser
from .window import ToolCall, Turn

__version__: str

__all__ = [
    "CONTEXT_POLYNOMIAL",
    "ContextInput",
    "ContextMachine",
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
