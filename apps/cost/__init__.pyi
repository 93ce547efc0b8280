from .meter import Cost, Meter, SpendingError
from .prices import cost_of, prices_of
from .reports import Tokens, reported_tokens

__all__ = [
    "Cost",
    "Meter",
    "SpendingError",
    "Tokens",
    "cost_of",
    "prices_of",
    "reported_tokens",
]
