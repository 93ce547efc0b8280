from .messages import Writer, define_tools, parse
from .rules import Judge

__all__ = [
    "Judge",
    "Writer",
    "define_tools",
    "parse",
]
