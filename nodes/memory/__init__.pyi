from .conversation import ConversationContext, Engagement
from .current_exchange import CurrentTurn, generic_outcome

__all__ = [
    "ConversationContext",
    "CurrentTurn",
    "Engagement",
    "generic_outcome",
]
