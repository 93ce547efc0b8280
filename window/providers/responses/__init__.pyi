from .item_rules import ID_STARTS
from .messages import parse
from .rules import ANSWERS, Judge
from .writer import Writer, define_tools

__all__ = [
    "ANSWERS",
    "ID_STARTS",
    "Judge",
    "Writer",
    "define_tools",
    "parse",
]
