from . import tag
from .classification.classifier import (
    Classifier,
    ToolRule,
    default_classifier,
    keep_last,
    never_yield,
    yield_first,
)
from .classification.constraints import constraint_sentences, states_constraint
from .ledger import DemotionError, LinearityMap, UnknownResourceError
from .resource_class import LinearityStats, ResourceClass
from .tag import UNIX_EPOCH

__all__ = [
    "UNIX_EPOCH",
    "Classifier",
    "DemotionError",
    "LinearityMap",
    "LinearityStats",
    "ResourceClass",
    "ToolRule",
    "UnknownResourceError",
    "constraint_sentences",
    "default_classifier",
    "keep_last",
    "never_yield",
    "states_constraint",
    "tag",
    "yield_first",
]
