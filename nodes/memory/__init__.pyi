from . import current_exchange

__all__ = [
    "current_exchange",
]
