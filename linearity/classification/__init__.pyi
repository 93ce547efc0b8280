from . import classifier, endings, prose
from .constraints import FoundRule, RuleKind, find_rules
from .sentence_boundaries import sentence_ends

__all__ = [
    "FoundRule",
    "RuleKind",
    "classifier",
    "endings",
    "find_rules",
    "prose",
    "sentence_ends",
]
