"""A store that keeps sessions in memory for the life of the process."""

from collections.abc import Collection, Mapping, Sequence
from threading import Lock

from attrs import define, field

from polycontext.base import guided
from polycontext.pressure import ConflictError
from polycontext.window import Turn

from ..journal.events import Event, TurnEvent
from .session_store import Rewritten, Stored, check_fork


@define
class _Kept:
    """The events of a session.

    Turn events mostly differ only in their turn. Events that are equal apart from it are stored
    once, with the turns in a list of their own.
    """

    said: list[Event] = field(factory=list)
    turns: list[Turn | None] = field(factory=list)
    kinds: dict[tuple[object, ...], TurnEvent] = field(factory=dict)
    companions: dict[str, str] = field(factory=dict)
    keys: dict[str, int] = field(factory=dict)

    def add(self, event: Event) -> None:
        """Add an event."""
        if isinstance(event, TurnEvent):
            key = (event.state, event.resource_class, event.pinned)
            self.said.append(self.kinds.setdefault(key, event))
            self.turns.append(event.turn)
        else:
            self.said.append(event)
            self.turns.append(None)

    def ids_of(self, sought: Sequence[Turn]) -> set[str]:
        """Return the ids of turns that may be copies of one of `sought`, of the same time."""
        times = {(turn.timestamp, turn.role) for turn in sought}
        own = (turn for turn in self.turns if turn is not None)
        return {turn.resource_id for turn in own if (turn.timestamp, turn.role) in times}

    def since(self, place: int) -> tuple[Event, ...]:
        """Return the events from `place` on."""
        pairs = zip(self.said[place:], self.turns[place:], strict=True)
        return tuple(
            TurnEvent(said.state, turn, said.resource_class, said.pinned)
            if turn is not None and isinstance(said, TurnEvent)
            else said
            for said, turn in pairs
        )


@guided
class InMemoryStore:
    """A store that keeps sessions in memory; thread-safe.

    >>> store = InMemoryStore()
    >>> store.append("s", 0, [], {"notes": '{"seen":1}'})
    >>> store.load("s").companions
    {'notes': '{"seen":1}'}
    """

    def __init__(self) -> None:
        self._sessions: dict[str, _Kept] = {}
        self._lock = Lock()

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events after revision `after`, and the companions."""
        with self._lock:
            kept = self._sessions.get(session_id)
            return Stored(kept.since(after), dict(kept.companions)) if kept else Stored()

    def append(
        self,
        session_id: str,
        base: int,
        events: Sequence[Event],
        companions: Mapping[str, str],
        *,
        key: str | None = None,
    ) -> None:
        """Append `events` at revision `base`, and store the changed companions and the key.

        Raises:
            ConflictError: the session is not at revision `base`.
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

    def fork(
        self, session_id: str, new_id: str, revision: int, companions: Mapping[str, str]
    ) -> None:
        """Create a session with the first `revision` events of another one, and these companions.

        Raises:
            ConflictError: the new id is taken, or the other session has fewer events.
        """
        with self._lock:
            there, kept = self._sessions.get(new_id), self._sessions.get(session_id) or _Kept()
            check_fork(new_id, None if there is None else len(there.said), revision, len(kept.said))
            self._sessions[new_id] = _Kept(
                kept.said[:revision], kept.turns[:revision], {**kept.kinds}, {**companions}
            )

    def holders(self, session_id: str, resource_ids: Collection[str]) -> dict[str, set[str]]:
        """Return, by session, the ids of the turns that may be copies of these.

        A copy has the same time and role.
        """
        with self._lock:
            own = self._sessions.get(session_id) or _Kept()
            sought = [
                turn for turn in own.turns if turn is not None and turn.resource_id in resource_ids
            ]
            found = {name: kept.ids_of(sought) for name, kept in self._sessions.items()}
        return {name: ids for name, ids in found.items() if ids}

    def rewrite(self, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of several sessions, all or none.

        Raises:
            ConflictError: a session does not have as many events as its `base` says.
        """
        with self._lock:
            for name, journal in journals.items():
                kept = self._sessions.get(name) or _Kept()
                if len(kept.said) != journal.base:
                    raise ConflictError("session revision", journal.base, len(kept.said))
            for name, journal in journals.items():
                before = self._sessions[name]
                kept = self._sessions[name] = _Kept(companions=before.companions, keys=before.keys)
                for number, event in enumerate(before.since(0), 1):
                    kept.add(journal.events.get(number, event))
                for event in journal.added:
                    kept.add(event)

    def committed(self, session_id: str, key: str) -> int | None:
        """Return the revision to which the command with that key led, None if there is none."""
        with self._lock:
            kept = self._sessions.get(session_id)
            return kept.keys.get(key) if kept else None

    def list_sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions, in alphabetical order."""
        with self._lock:
            return tuple(sorted(self._sessions))

    def delete(self, session_id: str) -> bool:
        """Delete a session; return whether there was one."""
        with self._lock:
            return self._sessions.pop(session_id, None) is not None

    def close(self) -> None:
        """Do nothing: an in-memory store has nothing to close."""

    # A lock cannot be copied; the data that it guards can.
    def __getstate__(self) -> dict[str, _Kept]:
        with self._lock:
            return {
                name: _Kept(
                    [*kept.said], [*kept.turns], {**kept.kinds}, {**kept.companions}, {**kept.keys}
                )
                for name, kept in self._sessions.items()
            }

    def __setstate__(self, sessions: dict[str, _Kept]) -> None:
        self._sessions = sessions
        self._lock = Lock()
