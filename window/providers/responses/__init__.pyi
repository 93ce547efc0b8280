from .item_rules import ID_STARTS, check_item, type_of
from .messages import parse
from .rules import ANSWERS, CALLS, TRIGGER, GrowingList, InputJudge, check_messages
from .writer import Writer

__all__ = [
    "ANSWERS",
    "CALLS",
    "ID_STARTS",
    "TRIGGER",
    "GrowingList",
    "InputJudge",
    "Writer",
    "check_item",
    "check_messages",
    "parse",
    "type_of",
]
