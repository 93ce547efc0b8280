from .classifier import Yielding, classified_by
from .prose import sentences, unquoted

__all__ = [
    "Yielding",
    "classified_by",
    "sentences",
    "unquoted",
]
