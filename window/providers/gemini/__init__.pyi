from .contents import check, parse
from .rules import GrowingList, check_messages
from .writer import Writer

__all__ = [
    "GrowingList",
    "Writer",
    "check",
    "check_messages",
    "parse",
]
