from . import schedule
from .account import Account, Delivered, Limit
from .bill import Bill
from .cache_plan import CachePlan, marked
from .prefix_cache import Breakpoint, CacheUse, PrefixCache
from .prices import Prices, prices_of
from .schedule import pays

__all__ = [
    "Account",
    "Bill",
    "Breakpoint",
    "CachePlan",
    "CacheUse",
    "Delivered",
    "Limit",
    "PrefixCache",
    "Prices",
    "marked",
    "pays",
    "prices_of",
    "schedule",
]
