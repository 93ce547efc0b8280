from .conversation import ArchivedContent, ContentArchive, ConversationContext, Engagement
from .current_exchange import (
    ClosedTurnError,
    CurrentTurn,
    StepResult,
    close_exchange,
    close_turn,
    summarize,
)
from .digest import Digest, DigestEntry

__all__ = [
    "ArchivedContent",
    "ClosedTurnError",
    "ContentArchive",
    "ConversationContext",
    "CurrentTurn",
    "Digest",
    "DigestEntry",
    "Engagement",
    "StepResult",
    "close_exchange",
    "close_turn",
    "summarize",
]
