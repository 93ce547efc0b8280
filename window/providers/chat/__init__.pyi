from .messages import Writer, define_tools, parse
from .rules import ChatJudge, check_messages

__all__ = [
    "ChatJudge",
    "Writer",
    "check_messages",
    "define_tools",
    "parse",
]
