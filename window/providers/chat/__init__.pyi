from .messages import Writer, check, parse, render
from .request_rules import check_request, findings, request_breach
from .rules import ChatJudge, GrowingList, check_messages

__all__ = [
    "ChatJudge",
    "GrowingList",
    "Writer",
    "check",
    "check_messages",
    "check_request",
    "findings",
    "parse",
    "render",
    "request_breach",
]
