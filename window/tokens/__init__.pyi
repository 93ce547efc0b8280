from .block_tokens import PER_MESSAGE, BlockTokens, text_blocks
from .counter import TURN_OVERHEAD
from .item_tokens import SeenTokens

__all__ = [
    "PER_MESSAGE",
    "TURN_OVERHEAD",
    "BlockTokens",
    "SeenTokens",
    "text_blocks",
]
