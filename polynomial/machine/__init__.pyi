from .context_machine import ContextMachine
from .declaration import OwnStates
from .diagram import LEGEND, arrows, dot, initial_state, mermaid
from .step import ContextPolicy, is_over_budget
from .timers import after

__all__ = [
    "LEGEND",
    "ContextMachine",
    "ContextPolicy",
    "OwnStates",
    "after",
    "arrows",
    "dot",
    "initial_state",
    "is_over_budget",
    "mermaid",
]
