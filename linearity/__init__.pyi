from .classification.classifier import (
    Classifier,
    ToolRule,
    default_classifier,
    is_acknowledgement,
    is_empty_result,
    keep_last,
    never_yield,
    yield_first,
)
from .classification.constraints import constraint_sentences, states_constraint
from .ledger import DemotionError, LinearityMap, UnknownResourceError
from .resource_class import LinearityStats, ResourceClass
from .tag import UNIX_EPOCH, Tag, in_utc, number_of

__all__ = [
    "UNIX_EPOCH",
    "Classifier",
    "DemotionError",
    "LinearityMap",
    "LinearityStats",
    "ResourceClass",
    "Tag",
    "ToolRule",
    "UnknownResourceError",
    "constraint_sentences",
    "default_classifier",
    "in_utc",
    "is_acknowledgement",
    "is_empty_result",
    "keep_last",
    "never_yield",
    "number_of",
    "states_constraint",
    "yield_first",
]
