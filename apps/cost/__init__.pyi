from . import reports
from .meter import Meter, SpendingError
from .prices import cost_of, prices_of

__all__ = [
    "Meter",
    "SpendingError",
    "cost_of",
    "prices_of",
    "reports",
]
