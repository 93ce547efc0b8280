"""What an agent remembers beside the session: the exchange under way, and the exchanges that are closed.

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
