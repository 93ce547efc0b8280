"""What a session asks of the place where it is kept (docs/saving.md)."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from attrs import field, frozen

from polycontext.polynomial.journal.events import Event


@frozen
class Stored:
    """Hold what a store has of one session: the events behind some revision, and its companions, as JSON texts, as they are now."""

    events: Sequence[Event] = ()
    companions: Mapping[str, str] = field(factory=dict)


class SessionStore(Protocol):
    """Keep the journals of sessions: two methods, of which one may refuse.

    A store that waits for a disk or a network should be an `AsyncSessionStore` too.
    """

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events behind revision `after` and the companions; nothing for a session that was never stored."""
        ...

    def append(self, session_id: str, base: int, events: Sequence[Event], companions: Mapping[str, str]) -> None:
        """Store `events` behind revision `base`, and the companions that changed, all or none.

        Raises:
            ConflictError: the session does not stand at `base`; somebody else was first.
        """
        ...


@runtime_checkable
class AsyncSessionStore(SessionStore, Protocol):
    """Keep the journals of sessions without blocking an event loop."""

    async def aload(self, session_id: str, after: int = 0) -> Stored:
        """Return what `load` returns."""
        ...

    async def aappend(self, session_id: str, base: int, events: Sequence[Event], companions: Mapping[str, str]) -> None:
        """Store what `append` stores."""
        ...
