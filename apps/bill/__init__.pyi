from .account import SpendingError
from .blocks import Blocks, Layout
from .entries import Bill, Miss, Why
from .prefix_cache import FLOOR, STEP, Breakpoint, CacheUse, PrefixCache
from .prices import prices_of
from .request_tokens import PER_MESSAGE, BlockTokens, SeenTokens, text_blocks
from .session_bill import Meter, bill_of

__all__ = [
    "FLOOR",
    "PER_MESSAGE",
    "STEP",
    "Bill",
    "BlockTokens",
    "Blocks",
    "Breakpoint",
    "CacheUse",
    "Layout",
    "Meter",
    "Miss",
    "PrefixCache",
    "SeenTokens",
    "SpendingError",
    "Why",
    "bill_of",
    "prices_of",
    "text_blocks",
]
