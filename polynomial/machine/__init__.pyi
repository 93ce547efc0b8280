from .context_machine import ContextMachine
from .declaration import once
from .diagram import LEGEND, arrows, dot, mermaid
from .engine import Region
from .timers import after

__all__ = [
    "LEGEND",
    "ContextMachine",
    "Region",
    "after",
    "arrows",
    "dot",
    "mermaid",
    "once",
]
