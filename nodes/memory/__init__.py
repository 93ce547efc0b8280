"""What an agent remembers beside the conversation: the turn under way, and the turns that are closed."""

from polycontext.nodes._values import InvalidRecordError
from polycontext.nodes.memory.archive import ArchivedContent, ContentArchive
from polycontext.nodes.memory.closing import close_turn, summarize
from polycontext.nodes.memory.conversation import ConversationContext
from polycontext.nodes.memory.current_turn import CurrentTurn, StepResult
from polycontext.nodes.memory.digest import Digest, DigestEntry
from polycontext.nodes.memory.engagement import Engagement
from polycontext.nodes.memory.errors import ClosedTurnError, MemoryFormatError

__all__ = [
    "ArchivedContent",
    "ClosedTurnError",
    "ContentArchive",
    "ConversationContext",
    "CurrentTurn",
    "Digest",
    "DigestEntry",
    "Engagement",
    "InvalidRecordError",
    "MemoryFormatError",
    "StepResult",
    "close_turn",
    "summarize",
]
