from .prose import sentences, unquoted
from .tool_rules import Yielding, classified_by

__all__ = [
    "Yielding",
    "classified_by",
    "sentences",
    "unquoted",
]
