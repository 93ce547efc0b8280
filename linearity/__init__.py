"""What may be done to it? Resource classes, their ledger, and the rules that classify."""

from .classifying.classifier import Classifier, default_classifier, is_acknowledgement, is_empty_result
from .classifying.constraints import constraint_sentences, states_constraint
from .classifying.tool_rules import keep_last, never_yield, yield_first
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
    "LinearityMap",
    "LinearityStats",
    "PolycontextError",
    "ResourceClass",
    "Tag",
    "UnknownNameError",
    "UnknownResourceError",
    "constraint_sentences",
    "default_classifier",
    "is_acknowledgement",
    "is_empty_result",
    "keep_last",
    "never_yield",
    "states_constraint",
    "yield_first",
]
