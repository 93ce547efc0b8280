from . import counter, media_rules, tokenizer
from .tokenizer import InexactCountWarning

__all__ = [
    "InexactCountWarning",
    "counter",
    "media_rules",
    "tokenizer",
]
