from . import codec, effects, json_data, law
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
from .column import Column
from .errors import (
    CallerError,
    CollaboratorError,
    DemotionError,
    InvalidDataError,
    InvalidOptionError,
    MissingExtraError,
    PolycontextError,
    UnknownNameError,
    UnknownResourceError,
    require_extra,
)
from .law import Law, LawViolation, laws_of
from .ledger import LinearityMap
from .resource_class import LinearityStats, ResourceClass
from .tag import UNIX_EPOCH, Tag, in_utc

__all__ = [
    "UNIX_EPOCH",
    "CallerError",
    "Classifier",
    "CollaboratorError",
    "Column",
    "DemotionError",
    "InvalidDataError",
    "InvalidOptionError",
    "Law",
    "LawViolation",
    "LinearityMap",
    "LinearityStats",
    "MissingExtraError",
    "PolycontextError",
    "ResourceClass",
    "Tag",
    "ToolRule",
    "UnknownNameError",
    "UnknownResourceError",
    "codec",
    "constraint_sentences",
    "default_classifier",
    "effects",
    "in_utc",
    "is_acknowledgement",
    "is_empty_result",
    "json_data",
    "keep_last",
    "law",
    "laws_of",
    "never_yield",
    "require_extra",
    "states_constraint",
    "yield_first",
]
