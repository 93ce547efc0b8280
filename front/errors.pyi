from .agent_context.errors import (
    ArtifactError,
    ContextSizeError,
    ContextSizeWarning,
    ContextViolationError,
    MigrationError,
    UnknownVersionError,
)
from .agents.forms import AnswerError
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
from .models.model_summariser import NoSummaryError
from .nodes.builders.budget import NodeBudgetError
from .nodes.entities.names import RefRefusedError
from .nodes.entities.records import UnknownRefError
from .nodes.prompts.template import MissingValueError, TemplateError
from .pills.errors import (
    CannotAttachError,
    DuplicatePillError,
    InvalidPillNameError,
    PillError,
)
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
