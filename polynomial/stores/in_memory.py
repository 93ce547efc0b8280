"""The store that lives as long as its process."""

from collections.abc import Mapping, Sequence
from threading import Lock

from attrs import define, field

from polycontext.polynomial.journal.events import Event, TurnEvent
from polycontext.polynomial.stores.session_store import Stored
from polycontext.pressure import ConflictError
from polycontext.window import Turn


@define
class _Kept:
    """Hold a session's events. Most say the same of one turn after another: that is held once, and the turns beside it."""

    said: list[Event] = field(factory=list)
    turns: list[Turn | None] = field(factory=list)
    kinds: dict[tuple[object, ...], TurnEvent] = field(factory=dict)
    companions: dict[str, str] = field(factory=dict)
    keys: dict[str, int] = field(factory=dict)

    def add(self, event: Event) -> None:
        """Hold one more event."""
        if isinstance(event, TurnEvent):
            key = (event.state, event.resource_class, event.pinned)
            self.said.append(self.kinds.setdefault(key, event))
            self.turns.append(event.turn)
        else:
            self.said.append(event)
            self.turns.append(None)

    def since(self, place: int) -> tuple[Event, ...]:
        """Return the events from `place` on."""
        pairs = zip(self.said[place:], self.turns[place:], strict=True)
        return tuple(
            TurnEvent(said.state, turn, said.resource_class, said.pinned) if turn is not None and isinstance(said, TurnEvent) else said
            for said, turn in pairs
        )


class InMemoryStore:
    """Keep sessions in memory; any number of them, from any thread.

    >>> store = InMemoryStore()
    >>> store.append("s", 0, [], {"notes": '{"seen":1}'})
    >>> store.load("s").companions
    {'notes': '{"seen":1}'}
    """

    def __init__(self) -> None:
        self._sessions: dict[str, _Kept] = {}
        self._lock = Lock()

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events behind revision `after` and the companions."""
        with self._lock:
            kept = self._sessions.get(session_id)
            return Stored(kept.since(after), dict(kept.companions)) if kept else Stored()

    def append(self, session_id: str, base: int, events: Sequence[Event], companions: Mapping[str, str], *, key: str | None = None) -> None:
        """Store `events` behind revision `base`, the companions that changed, and the key of the command.

        Raises:
            ConflictError: the session does not stand at `base`.
        """
        with self._lock:
            kept = self._sessions.get(session_id) or _Kept()
            if len(kept.said) != base:
                raise ConflictError("session revision", base, len(kept.said))
            self._sessions[session_id] = kept
            for event in events:
                kept.add(event)
            kept.companions.update(companions)
            if key is not None:
                kept.keys[key] = len(kept.said)

    def committed(self, session_id: str, key: str) -> int | None:
        """Return the revision to which the command of that key led, None where there was none."""
        with self._lock:
            kept = self._sessions.get(session_id)
            return kept.keys.get(key) if kept else None

    def list_sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions, in alphabetical order."""
        with self._lock:
            return tuple(sorted(self._sessions))

    def delete(self, session_id: str) -> bool:
        """Forget a session; tell whether there was one."""
        with self._lock:
            return self._sessions.pop(session_id, None) is not None

    def close(self) -> None:
        """Do nothing: what is in memory needs no closing."""

    # A lock cannot be copied; what it guards can.
    def __getstate__(self) -> dict[str, _Kept]:
        with self._lock:
            return {
                name: _Kept([*kept.said], [*kept.turns], {**kept.kinds}, {**kept.companions}, {**kept.keys})
                for name, kept in self._sessions.items()
            }

    def __setstate__(self, sessions: dict[str, _Kept]) -> None:
        self._sessions = sessions
        self._lock = Lock()
