from .messages import check, parse, render
from .request_rules import check_request, request_breach
from .rules import ChatJudge, GrowingList, check_messages
from .writer import Writer

__all__ = [
    "ChatJudge",
    "GrowingList",
    "Writer",
    "check",
    "check_messages",
    "check_request",
    "parse",
    "render",
    "request_breach",
]
