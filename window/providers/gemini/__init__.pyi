from .answers import assemble
from .contents import parse
from .rules import Judge
from .writer import Writer, define_tools

__all__ = [
    "Judge",
    "Writer",
    "assemble",
    "define_tools",
    "parse",
]
