from .conversation import ArchivedContent, ContentArchive, ConversationContext, Engagement
from .current_exchange import CurrentTurn, StepResult, close_exchange, generic_outcome

__all__ = [
    "ArchivedContent",
    "ContentArchive",
    "ConversationContext",
    "CurrentTurn",
    "Engagement",
    "StepResult",
    "close_exchange",
    "generic_outcome",
]
