from . import block_rules, message_rules, order_rules, versions
from .messages import hoist

__all__ = [
    "block_rules",
    "hoist",
    "message_rules",
    "order_rules",
    "versions",
]
