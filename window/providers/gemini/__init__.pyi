from .answers import assemble
from .contents import parse
from .rules import UNSIGNED, Judge
from .writer import Writer, define_tools

__all__ = [
    "UNSIGNED",
    "Judge",
    "Writer",
    "assemble",
    "define_tools",
    "parse",
]
