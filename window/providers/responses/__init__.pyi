from . import item_rules, rules

__all__ = [
    "item_rules",
    "rules",
]
