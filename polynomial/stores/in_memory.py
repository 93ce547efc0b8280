"""The store that lives as long as its process."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from threading import Lock

from attrs import define, field

from polycontext.polynomial.journal.events import Event
from polycontext.polynomial.stores.session_store import Stored
from polycontext.pressure import ConflictError


@define
class _Kept:
    events: list[Event] = field(factory=list)
    companions: dict[str, str] = field(factory=dict)


class InMemoryStore:
    """Keep sessions in memory; any number of them, from any thread.

    >>> store = InMemoryStore()
    >>> store.append("s", 0, [], {"notes": '{"seen":1}'})
    >>> store.load("s").companions
    {'notes': '{"seen":1}'}
    """

    def __init__(self) -> None:
        self._sessions: defaultdict[str, _Kept] = defaultdict(_Kept)
        self._lock = Lock()

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events behind revision `after` and the companions."""
        with self._lock:
            kept = self._sessions.get(session_id)
            return Stored(tuple(kept.events[after:]), dict(kept.companions)) if kept else Stored()

    def append(self, session_id: str, base: int, events: Sequence[Event], companions: Mapping[str, str]) -> None:
        """Store `events` behind revision `base`, and the companions that changed.

        Raises:
            ConflictError: the session does not stand at `base`.
        """
        with self._lock:
            kept = self._sessions[session_id]
            if len(kept.events) != base:
                raise ConflictError("session revision", base, len(kept.events))
            kept.events.extend(events)
            kept.companions.update(companions)

    # A lock cannot be copied; what it guards can.
    def __getstate__(self) -> dict[str, _Kept]:
        with self._lock:
            return {name: _Kept([*kept.events], {**kept.companions}) for name, kept in self._sessions.items()}

    def __setstate__(self, sessions: dict[str, _Kept]) -> None:
        self._sessions = defaultdict(_Kept, sessions)
        self._lock = Lock()
