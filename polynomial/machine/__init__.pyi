from .context_machine import ContextMachine
from .diagram import dot, mermaid
from .step import ContextPolicy, is_over_budget

__all__ = [
    "ContextMachine",
    "ContextPolicy",
    "dot",
    "is_over_budget",
    "mermaid",
]
