from .counter import (
    TURN_OVERHEAD,
    CalibratedCounter,
    calibrate,
    count_introduced,
    count_part,
    is_exact,
)
from .media_rules import medium_tokens, openai_image_tokens
from .tokenizer import SHA256, InexactCountWarning

__all__ = [
    "SHA256",
    "TURN_OVERHEAD",
    "CalibratedCounter",
    "InexactCountWarning",
    "calibrate",
    "count_introduced",
    "count_part",
    "is_exact",
    "medium_tokens",
    "openai_image_tokens",
]
