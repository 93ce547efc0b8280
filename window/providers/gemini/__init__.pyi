from .answers import assemble
from .contents import parse
from .rules import UNSIGNED, GrowingList, check_messages
from .writer import Writer, define_tools

__all__ = [
    "UNSIGNED",
    "GrowingList",
    "Writer",
    "assemble",
    "check_messages",
    "define_tools",
    "parse",
]
