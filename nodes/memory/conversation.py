"""What an agent remembers beside the session: the seed's ``ConversationContext`` (seed 003, "Storage Schema Update")."""

from typing import Any

from attrs import evolve, field, frozen
from attrs.validators import optional

from polycontext.nodes._values import is_a, is_text, is_tuple
from polycontext.nodes.entities import SessionIdRegistry
from polycontext.nodes.history import ConversationTurn, PendingState
from polycontext.nodes.memory.archive import ContentArchive
from polycontext.nodes.memory.codec import read, write
from polycontext.nodes.memory.digest import Digest
from polycontext.nodes.memory.engagement import Engagement
from polycontext.nodes.reasoning import TurnCuration, TurnExecutionSummary


@frozen
class ConversationContext:
    """Hold what is remembered of the closed turns of one conversation; immutable.

    Its size does not grow with the conversation, but for entities that nobody dropped.

    `recent_turns` are the last five exchanges, `history` what is left of those before;
    `turn_summaries` are the last two turns, `reasoning` what is left of those before.
    `closed_id` is the resource id of the last user turn that was closed. `close_turn` keeps all
    of it up.

    >>> conversation = ConversationContext()
    >>> conversation.next_turn_num, conversation.history_summary
    (1, '')
    >>> ConversationContext.from_json(conversation.to_json()) == conversation
    True
    """

    recent_turns: tuple[ConversationTurn, ...] = field(default=(), validator=is_tuple)
    history: Digest = field(factory=Digest)
    engagement: Engagement = field(factory=Engagement)
    pending: PendingState | None = field(default=None, validator=optional(is_a(PendingState)))
    id_registry: SessionIdRegistry = field(factory=SessionIdRegistry, validator=is_a(SessionIdRegistry))
    turn_summaries: tuple[TurnExecutionSummary, ...] = field(default=(), validator=is_tuple)
    reasoning: Digest = field(factory=lambda: Digest(bound=400))
    content_archive: ContentArchive = field(factory=ContentArchive)
    understand_decision_log: tuple[TurnCuration, ...] = field(default=(), validator=is_tuple)
    closed_id: str = field(default="", validator=is_text)

    @property
    def history_summary(self) -> str:
        """Return what is left of the exchanges before the recent ones."""
        return self.history.text

    @property
    def reasoning_summary(self) -> str:
        """Return what is left of the reasoning before the last turns."""
        return self.reasoning.text

    @property
    def engagement_summary(self) -> str:
        """Return what the conversation is about as a whole."""
        return self.engagement.text

    @property
    def closed_at(self) -> str:
        """Return when the exchange closed last began, empty before the first."""
        return self.recent_turns[-1].timestamp if self.recent_turns else ""

    @property
    def next_turn_num(self) -> int:
        """Return the number of the next turn, 1 for the first."""
        return self.turn_summaries[-1].turn_num + 1 if self.turn_summaries else 1

    def with_registry(self, registry: SessionIdRegistry) -> "ConversationContext":
        """Return the same memory with this registry of entities."""
        return evolve(self, id_registry=registry)

    def archive(self, key: str, content: Any) -> "ConversationContext":
        """Return the memory that holds `content`, JSON data, for retrieval under `key`.

        Raises:
            InvalidRecordError: content that is no JSON data, a key that cannot be stored.
        """
        return evolve(self, content_archive=self.content_archive.put(key, content))

    def to_json(self) -> str:
        """Return the memory as JSON text, with a schema version; `from_json` restores it.

        Law: ``from_json(c.to_json()) == c``, and its JSON is the same text.
        """
        return write(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> "ConversationContext":
        """Restore a memory.

        Raises:
            MemoryFormatError: no saved memory, or of an unknown schema; names the path of the first fault.
        """
        return read(text, cls)
