from .counter import TURN_OVERHEAD, CalibratedCounter, count_introduced, count_part, is_exact
from .request_tokens import PER_MESSAGE, BlockTokens, SeenTokens, text_blocks
from .vocabulary import SHA256, InexactCountWarning

__all__ = [
    "PER_MESSAGE",
    "SHA256",
    "TURN_OVERHEAD",
    "BlockTokens",
    "CalibratedCounter",
    "InexactCountWarning",
    "SeenTokens",
    "count_introduced",
    "count_part",
    "is_exact",
    "text_blocks",
]
