from .classifier import Yielding, classified_by
from .constraints import FoundRule, RuleKind, find_rules
from .prose import sentence_spans, sentences, unquoted, wording_of

__all__ = [
    "FoundRule",
    "RuleKind",
    "Yielding",
    "classified_by",
    "find_rules",
    "sentence_spans",
    "sentences",
    "unquoted",
    "wording_of",
]
