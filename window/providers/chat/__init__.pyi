from .messages import check, parse, render
from .request_rules import request_breach
from .rules import ChatJudge

__all__ = [
    "ChatJudge",
    "check",
    "parse",
    "render",
    "request_breach",
]
