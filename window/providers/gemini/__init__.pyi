from .contents import parse
from .rules import GrowingList, check_messages
from .writer import Writer

__all__ = [
    "GrowingList",
    "Writer",
    "check_messages",
    "parse",
]
