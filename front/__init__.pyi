from .base import PolycontextError
from .linearity import ResourceClass
from .nodes.prompt_text import quote
from .polynomial import (
    CONTEXT_POLYNOMIAL,
    ContextInput,
    ContextMachine,
    ContextOverflowError,
    ContextSession,
    ContextState,
    project,
)
from .polynomial.session.context_tools import context_tools
from .pressure import ContextProjector, ExtractiveSummariser
from .window import ToolCall, Turn

__version__: str

__all__ = [
    "CONTEXT_POLYNOMIAL",
    "ContextInput",
    "ContextMachine",
    "ContextOverflowError",
    "ContextProjector",
    "ContextSession",
    "ContextState",
    "ExtractiveSummariser",
    "PolycontextError",
    "ResourceClass",
    "ToolCall",
    "Turn",
    "context_tools",
    "project",
    "quote",
]
