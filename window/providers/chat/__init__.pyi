from .messages import Writer, parse
from .rules import ChatJudge, GrowingList, check_messages

__all__ = [
    "ChatJudge",
    "GrowingList",
    "Writer",
    "check_messages",
    "parse",
]
