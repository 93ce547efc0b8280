from .messages import Writer, define_tools, parse
from .rules import ChatJudge, GrowingList, check_messages

__all__ = [
    "ChatJudge",
    "GrowingList",
    "Writer",
    "check_messages",
    "define_tools",
    "parse",
]
