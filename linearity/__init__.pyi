from . import effects
from .classification.classifier import Classifier, default_classifier, is_acknowledgement, is_empty_result
from .classification.constraints import constraint_sentences, states_constraint
from .classification.tool_rules import ToolRule, keep_last, never_yield, yield_first
from .errors import (
    CallerError,
    CollaboratorError,
    DemotionError,
    InvalidDataError,
    InvalidOptionError,
    PolycontextError,
    UnknownNameError,
    UnknownResourceError,
)
from .extras import require_extra
from .law import Law, LawViolation, laws_of
from .ledger import LinearityMap
from .resource_class import LinearityStats, ResourceClass
from .tag import UNIX_EPOCH, Tag

__all__ = [
    "UNIX_EPOCH",
    "CallerError",
    "Classifier",
    "CollaboratorError",
    "DemotionError",
    "InvalidDataError",
    "InvalidOptionError",
    "Law",
    "LawViolation",
    "LinearityMap",
    "LinearityStats",
    "PolycontextError",
    "ResourceClass",
    "Tag",
    "ToolRule",
    "UnknownNameError",
    "UnknownResourceError",
    "constraint_sentences",
    "default_classifier",
    "effects",
    "is_acknowledgement",
    "is_empty_result",
    "keep_last",
    "laws_of",
    "never_yield",
    "require_extra",
    "states_constraint",
    "yield_first",
]
