from .counter import TURN_OVERHEAD, count_introduced, count_part
from .request_tokens import PER_MESSAGE, BlockTokens, SeenTokens, text_blocks
from .vocabulary import SHA256

__all__ = [
    "PER_MESSAGE",
    "SHA256",
    "TURN_OVERHEAD",
    "BlockTokens",
    "SeenTokens",
    "count_introduced",
    "count_part",
    "text_blocks",
]
