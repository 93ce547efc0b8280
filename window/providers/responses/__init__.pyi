from .item_rules import ID_STARTS, check_item, type_of
from .messages import parse
from .rules import ANSWERS, TRIGGER, Judge
from .writer import Writer, define_tools

__all__ = [
    "ANSWERS",
    "ID_STARTS",
    "TRIGGER",
    "Judge",
    "Writer",
    "check_item",
    "define_tools",
    "parse",
    "type_of",
]
