from .item_rules import ID_STARTS, item_breach, type_of
from .messages import check, parse, render
from .request_rules import check_request, findings, not_found, request_breach, unstored
from .rules import TRIGGER, GrowingList, InputJudge, check_messages
from .writer import Writer

__all__ = [
    "ID_STARTS",
    "TRIGGER",
    "GrowingList",
    "InputJudge",
    "Writer",
    "check",
    "check_messages",
    "check_request",
    "findings",
    "item_breach",
    "not_found",
    "parse",
    "render",
    "request_breach",
    "type_of",
    "unstored",
]
