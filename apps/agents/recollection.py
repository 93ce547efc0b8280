"""The recollection of a session: its memory, computed from the journal (docs/agents.md)."""

from threading import Lock

from polycontext.agent_context import AgentContext
from polycontext.linearity import UNIX_EPOCH
from polycontext.nodes import Now
from polycontext.polynomial import ContextSession, Event
from polycontext.polynomial.journal import EraseEvent, RewindEvent

from .machine import writers_of
from .memory import AgentMemory
from .sharing import Rules, Sharing


class Recollection:
    """The memory of any session, computed on from where it was last asked for.

    In a session whose machine has no agents it remembers what was said.

    >>> session = ContextSession(max_tokens=8000)
    >>> recollection = Recollection(session)
    >>> _ = session.add_user_turn("Any soup?"), session.add_assistant_turn("Three soups.")
    >>> recollection.memory.conversation.recent_turns[-1].assistant_summary
    'Three soups.'
    """

    def __init__(self, session: ContextSession) -> None:
        self._session = session
        # Tools run in threads and read the memory there.
        self._lock = Lock()
        declared, id = writers_of(session.conversation.machine), session.session_id
        first = AgentContext.new(id, id, created_at=UNIX_EPOCH)
        who, counter = declared.agents(), session.window.counter
        rules = Rules(declared.forms(), who, counter, first, declared.validator(), declared.limits)
        self._first = AgentMemory(Sharing(rules, first))
        self._begin()

    def _begin(self) -> None:
        self._revision, self._now = 0, self._first
        self._passed = {0: self._first}
        """Memories at earlier revisions, to begin from after a rewind."""

    @property
    def now(self) -> Now:
        """Return what nodes read at the session's revision."""
        return self.memory.now(self._session.output)

    @property
    def memory(self) -> AgentMemory:
        """Return what is remembered at the session's revision.

        The cost grows with the events since it was last asked for. After an erasure, everything is
        read again.
        """
        with self._lock:
            return self._read()

    def _read(self) -> AgentMemory:
        history = self._session.history
        if history.revision == self._revision:
            return self._now
        new = history.events(self._revision)
        if any(isinstance(event, EraseEvent) for event in new):
            self._begin()
            new = history.events()
        goals = {event.to for event in new if isinstance(event, RewindEvent)}
        for event in new:
            self._now, self._revision = self._next(self._now, event), self._revision + 1
            if self._now.is_answered or self._revision in goals:
                self._passed[self._revision] = self._now
        return self._now

    def _next(self, memory: AgentMemory, event: Event) -> AgentMemory:
        return self._at(event.to) if isinstance(event, RewindEvent) else memory.after(event)

    def _at(self, revision: int) -> AgentMemory:
        """Return what was remembered at a revision, from the nearest one before it."""
        nearest = max(known for known in self._passed if known <= revision)
        memory = self._passed[nearest]
        for event in self._session.history.events(nearest)[: revision - nearest]:
            memory = self._next(memory, event)
        self._passed[revision] = memory
        return memory
