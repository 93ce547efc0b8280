from .messages import Writer, check, parse
from .rules import ChatJudge, GrowingList, check_messages

__all__ = [
    "ChatJudge",
    "GrowingList",
    "Writer",
    "check",
    "check_messages",
    "parse",
]
