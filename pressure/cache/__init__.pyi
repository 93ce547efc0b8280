from . import schedule
from .account import Account, Limit, Request
from .bill import Bill
from .cache_plan import CachePlan, apply_marks
from .prefix_cache import Breakpoint, CacheUse, PrefixCache
from .prices import Prices, prices_of
from .schedule import pays

__all__ = [
    "Account",
    "Bill",
    "Breakpoint",
    "CachePlan",
    "CacheUse",
    "Limit",
    "PrefixCache",
    "Prices",
    "Request",
    "apply_marks",
    "pays",
    "prices_of",
    "schedule",
]
