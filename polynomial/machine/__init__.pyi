from .context_machine import ContextMachine
from .declaration import OwnStates, once
from .diagram import LEGEND, arrows, dot, mermaid
from .engine import Region
from .step import ContextPolicy, is_over_budget
from .timers import after

__all__ = [
    "LEGEND",
    "ContextMachine",
    "ContextPolicy",
    "OwnStates",
    "Region",
    "after",
    "arrows",
    "dot",
    "is_over_budget",
    "mermaid",
    "once",
]
