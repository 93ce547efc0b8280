from .contents import parse
from .rules import UNSIGNED, GrowingList, check_messages
from .writer import Writer

__all__ = [
    "UNSIGNED",
    "GrowingList",
    "Writer",
    "check_messages",
    "parse",
]
