from .item_rules import ID_STARTS, item_breach, type_of
from .messages import check, parse, render
from .request_rules import not_found, request_breach, unstored
from .rules import TRIGGER, InputJudge

__all__ = [
    "ID_STARTS",
    "TRIGGER",
    "InputJudge",
    "check",
    "item_breach",
    "not_found",
    "parse",
    "render",
    "request_breach",
    "type_of",
    "unstored",
]
