from .classifier import Yielding, classified_by
from .constraints import FoundRule, RuleKind, find_rules
from .prose import (
    is_reminder,
    sentence_spans,
    sentences,
    unquoted,
    without_elements,
    wording_of,
)
from .sentence_ends import sentence_ends

__all__ = [
    "FoundRule",
    "RuleKind",
    "Yielding",
    "classified_by",
    "find_rules",
    "is_reminder",
    "sentence_ends",
    "sentence_spans",
    "sentences",
    "unquoted",
    "without_elements",
    "wording_of",
]
