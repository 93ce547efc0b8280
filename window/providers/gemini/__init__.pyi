from .answers import assemble
from .contents import parse
from .rules import UNSIGNED, check_messages
from .writer import Writer, define_tools

__all__ = [
    "UNSIGNED",
    "Writer",
    "assemble",
    "check_messages",
    "define_tools",
    "parse",
]
