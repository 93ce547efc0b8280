from .item_rules import ID_STARTS, check_item, type_of
from .messages import parse
from .rules import ANSWERS, CALLS, TRIGGER, InputJudge, check_messages
from .writer import Writer, define_tools

__all__ = [
    "ANSWERS",
    "CALLS",
    "ID_STARTS",
    "TRIGGER",
    "InputJudge",
    "Writer",
    "check_item",
    "check_messages",
    "define_tools",
    "parse",
    "type_of",
]
