from .counter import (
    TURN_OVERHEAD,
    calibrate,
    count_introduced,
    count_part,
)
from .media_rules import medium_tokens, openai_image_tokens
from .tokenizer import SHA256, InexactCountWarning

__all__ = [
    "SHA256",
    "TURN_OVERHEAD",
    "InexactCountWarning",
    "calibrate",
    "count_introduced",
    "count_part",
    "medium_tokens",
    "openai_image_tokens",
]
