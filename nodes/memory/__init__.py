"""The memory of an agent beside its session: the exchange under way, and the closed ones.

In `CurrentTurn`, `close_turn` and `turn_num` the word turn means an exchange (docs/nodes.md).
"""

from .conversation import ArchivedContent, ContentArchive, ConversationContext, Engagement
from .current_exchange import ClosedTurnError, CurrentTurn, StepResult, close_turn, summarize
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
    "close_turn",
    "summarize",
]
