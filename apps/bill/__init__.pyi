from .account import SpendingError
from .bill import Bill, Miss, Why
from .blocks import Blocks, Layout
from .meter import Meter, bill_of
from .prefix_cache import FLOOR, STEP, Breakpoint, CacheUse, PrefixCache
from .prices import prices_of

__all__ = [
    "FLOOR",
    "STEP",
    "Bill",
    "Blocks",
    "Breakpoint",
    "CacheUse",
    "Layout",
    "Meter",
    "Miss",
    "PrefixCache",
    "SpendingError",
    "Why",
    "bill_of",
    "prices_of",
]
