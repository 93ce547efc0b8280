from .agent_context import (
    ArtifactError,
    ContextSizeError,
    ContextSizeWarning,
    ContextViolationError,
    MigrationError,
    UnknownVersionError,
)
from .agents import AnswerError
from .base import (
    CallerError,
    CollaboratorError,
    InvalidDataError,
    InvalidOptionError,
    MissingExtraError,
    PolycontextError,
    UnknownNameError,
)
from .base.law import LawViolation
from .cost import SpendingError
from .linearity import DemotionError, UnknownResourceError
from .models import NoSummaryError
from .nodes.builders import NodeBudgetError
from .nodes.entities import RefRefusedError, UnknownRefError
from .nodes.prompts import MissingValueError, TemplateError
from .pills import CannotAttachError, DuplicatePillError, InvalidPillNameError, PillError
from .polynomial import (
    ContextOverflowError,
    ContextPressureError,
    IllegalDirectionError,
    SessionWriteError,
    StoreBusyError,
    StoreError,
)
from .polynomial.errors import UnknownPathError
from .polynomial.session.time_travel import NothingToUndoError
from .pressure import ConflictError, FloorError
from .testing import ScriptEndedError
from .testing.strict import RequestRefusedError
from .window import InvalidMessagesError, InvalidTurnError, OrderError, PluginError, PositionError
from .window.items import DuplicateItemError, MetadataWarning
from .window.tokens import InexactCountWarning

__all__ = [
    "AnswerError",
    "ArtifactError",
    "CallerError",
    "CannotAttachError",
    "CollaboratorError",
    "ConflictError",
    "ContextOverflowError",
    "ContextPressureError",
    "ContextSizeError",
    "ContextSizeWarning",
    "ContextViolationError",
    "DemotionError",
    "DuplicateItemError",
    "DuplicatePillError",
    "FloorError",
    "IllegalDirectionError",
    "InexactCountWarning",
    "InvalidDataError",
    "InvalidMessagesError",
    "InvalidOptionError",
    "InvalidPillNameError",
    "InvalidTurnError",
    "LawViolation",
    "MetadataWarning",
    "MigrationError",
    "MissingExtraError",
    "MissingValueError",
    "NoSummaryError",
    "NodeBudgetError",
    "NothingToUndoError",
    "OrderError",
    "PillError",
    "PluginError",
    "PolycontextError",
    "PositionError",
    "RefRefusedError",
    "RequestRefusedError",
    "ScriptEndedError",
    "SessionWriteError",
    "SpendingError",
    "StoreBusyError",
    "StoreError",
    "TemplateError",
    "UnknownNameError",
    "UnknownPathError",
    "UnknownRefError",
    "UnknownResourceError",
    "UnknownVersionError",
]
