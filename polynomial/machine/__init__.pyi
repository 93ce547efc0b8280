from .context_machine import ContextMachine
from .diagram import LEGEND, arrows, dot, initial_state, mermaid
from .step import ContextPolicy, is_over_budget
from .timers import after

__all__ = [
    "LEGEND",
    "ContextMachine",
    "ContextPolicy",
    "after",
    "arrows",
    "dot",
    "initial_state",
    "is_over_budget",
    "mermaid",
]
