"""What may be done to it? Resource classes, their ledger, and the rules that classify."""

from polycontext.linearity.classifying.classifier import Classifier, default_classifier
from polycontext.linearity.classifying.constraints import constraint_sentences, states_constraint
from polycontext.linearity.classifying.small_talk import is_acknowledgement, is_empty_result
from polycontext.linearity.errors import (
    CallerError,
    CollaboratorError,
    DemotionError,
    InvalidTagError,
    LedgerFormatError,
    PolycontextError,
    UndroppableError,
    UnknownResourceError,
)
from polycontext.linearity.ledger import LinearityMap
from polycontext.linearity.resource_class import ResourceClass
from polycontext.linearity.stats import LinearityStats
from polycontext.linearity.tag import EPOCH, Tag

__all__ = [
    "EPOCH",
    "CallerError",
    "Classifier",
    "CollaboratorError",
    "DemotionError",
    "InvalidTagError",
    "LedgerFormatError",
    "LinearityMap",
    "LinearityStats",
    "PolycontextError",
    "ResourceClass",
    "Tag",
    "UndroppableError",
    "UnknownResourceError",
    "constraint_sentences",
    "default_classifier",
    "is_acknowledgement",
    "is_empty_result",
    "states_constraint",
]
