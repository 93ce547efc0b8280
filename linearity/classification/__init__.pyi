from .classifier import Yielding, classified_by
from .constraints import FoundRule, RuleKind, find_rules
from .endings import Effect, ending_of, subjects_of
from .prose import (
    is_reminder,
    one_line,
    sentence_spans,
    sentences,
    unquoted,
    without_elements,
    wording_of,
)
from .sentence_boundaries import sentence_ends

__all__ = [
    "Effect",
    "FoundRule",
    "RuleKind",
    "Yielding",
    "classified_by",
    "ending_of",
    "find_rules",
    "is_reminder",
    "one_line",
    "sentence_ends",
    "sentence_spans",
    "sentences",
    "subjects_of",
    "unquoted",
    "without_elements",
    "wording_of",
]
