"""The protocols for stores of sessions, and the values they exchange (docs/stores.md)."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from attrs import field, frozen

from polycontext.pressure import ConflictError
from polycontext.window import Role, Turn

from ..journal.events import Event


@frozen
class Stored:
    """The events of one session after some revision, and its current companions as JSON texts.

    The sources of gists may still be ranges, as they were written (see `evolve`). `snapshot` is the
    revision of the newest snapshot, 0 if there is none.
    """

    events: Sequence[Event] = ()
    companions: Mapping[str, str] = field(factory=dict)
    snapshot: int = 0


class SessionStore(Protocol):
    """A store for the journals of sessions.

    A session requires only `load` and `append`; the other methods are needed for the features that
    call them. A store that waits for a disk or a network should also be an `AsyncSessionStore`.
    """

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events after revision `after`, and the companions.

        A session that was never stored has none.
        """
        ...

    def append(
        self,
        session_id: str,
        base: int,
        events: Sequence[Event],
        companions: Mapping[str, str],
        *,
        key: str | None = None,
    ) -> None:
        """Append `events` at revision `base` and store the changed companions, all or none.

        If the command has a `key`, it is stored with them.

        Raises:
            ConflictError: the session is not at revision `base`; another writer was first.
        """
        ...

    def committed(self, session_id: str, key: str) -> int | None:
        """Return the revision to which the command with that key led.

        Return None if no such command was stored.
        """
        ...

    def list_sessions(self) -> Sequence[str]:
        """Return the ids of all sessions, in alphabetical order."""
        ...

    def delete(self, session_id: str) -> bool:
        """Delete a session with all its data; return whether there was one."""
        ...

    def close(self) -> None:
        """Release the store's resources; idempotent."""
        ...


@runtime_checkable
class AsyncSessionStore(SessionStore, Protocol):
    """A store for the journals of sessions that does not block the event loop."""

    async def aload(self, session_id: str, after: int = 0) -> Stored:
        """Do the same as `load` without blocking the event loop."""
        ...

    async def aappend(
        self,
        session_id: str,
        base: int,
        events: Sequence[Event],
        companions: Mapping[str, str],
        *,
        key: str | None = None,
    ) -> None:
        """Do the same as `append` without blocking the event loop."""
        ...


@runtime_checkable
class SharedStore(SessionStore, Protocol):
    """A store that other processes write, too."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep all other threads and processes from writing during the block.

        A writer that was too late uses it to be next.
        """
        ...

    def revision(self, session_id: str) -> int | None:
        """Return the number of events of a session, None if there is no such session."""
        ...

    def version(self) -> Hashable:
        """Return a value that changes whenever another process has written."""
        ...


@frozen
class Snapshot:
    """The state of a session, so that opening it need not replay all events.

    `piece` contains what was added to the ledger and log since the snapshot of revision `base`,
    `head` the view. Both are opaque to a store. They are derived: without them, all events are
    replayed.
    """

    base: int
    piece: bytes
    head: bytes


@frozen
class Opened:
    """The snapshot of a session and the events since.

    `pieces` are in order, each with its revision, and `head` is the newest one. `turns` reads the
    turns that the events ``first..last`` added, counted from 1.
    """

    pieces: Sequence[tuple[int, bytes]]
    head: bytes
    stored: Stored
    turns: Callable[[int, int], tuple[Turn, ...]]


@runtime_checkable
class SnapshotStore(SessionStore, Protocol):
    """A store that keeps snapshots with the journals.

    Snapshots are passed to `append` only, and may be discarded at any time.
    """

    def append(
        self,
        session_id: str,
        base: int,
        events: Sequence[Event],
        companions: Mapping[str, str],
        *,
        key: str | None = None,
        snapshot: Snapshot | None = None,
    ) -> None:
        """Do the same as `SessionStore.append`, and store the snapshot of the resulting revision.

        The snapshot replaces all others if its `base` is 0. It is added if its `base` is the newest
        one, and ignored otherwise.
        """
        ...

    def opened(self, session_id: str) -> Opened | None:
        """Return a session as its newest snapshot and the events since.

        Return None if there is no snapshot.
        """
        ...


@runtime_checkable
class ForkingStore(SessionStore, Protocol):
    """A store in which forks share the data they have in common.

    In other stores, a fork is a copy.
    """

    def fork(
        self, session_id: str, new_id: str, revision: int, companions: Mapping[str, str]
    ) -> None:
        """Create a session with the first `revision` events of another one, and these companions.

        Texts are shared; keys are not copied.

        Raises:
            ConflictError: the new id is taken, or the other session has fewer events.
        """
        ...


@frozen
class Rewritten:
    """The changes to a journal of `base` events.

    `events` replaces events by their numbers from 1; `added` is appended.
    """

    base: int
    events: Mapping[int, Event]
    added: Sequence[Event] = ()


@runtime_checkable
class ErasingStore(SessionStore, Protocol):
    """A store that can erase words, the only exception to append-only journals."""

    def holders(
        self, session_id: str, resource_ids: Collection[str]
    ) -> Mapping[str, Collection[str]]:
        """Return, by session, the ids of the turns that may be copies of these.

        A copy has the same time and role, and does not always say the same. Forks, children, copies
        and the session itself are searched.
        """
        ...

    def rewrite(self, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of several sessions, all or none.

        Their snapshots are deleted. Afterwards nothing in the store contains what was replaced, in
        an earlier call that failed either, even if there are no journals.

        Raises:
            ConflictError: a session does not have as many events as its `base` says.
        """
        ...


@frozen
class Found:
    """A search result: the id of a turn, for `recall`, and a `snippet` of its text.

    A higher `score` is better. Scores can only be compared within one search.
    """

    resource_id: str
    role: Role
    snippet: str
    score: float


@runtime_checkable
class SearchableStore(SessionStore, Protocol):
    """A store that searches journals where they are stored.

    Sessions in other stores are searched in memory.
    """

    def search(self, session_id: str, query: str, limit: int) -> Sequence[Found]:
        """Return at most `limit` turns of a session that match `query`, best first.

        Return none if there is no such session. All turns that `append` has stored are searched,
        but no gists. Any text is a query. A turn must contain all phrases in double quotes; without
        a phrase, it must contain at least one of the words.
        """
        ...


def check_fork(new_id: str, there: int | None, revision: int, found: int) -> None:
    """Raise `ConflictError` if `new_id` is taken, or fewer than `revision` events were found."""
    if there is not None:
        raise ConflictError(
            f"session {new_id!r}",
            "an unused id",
            f"a session of {there} events",
            "Use an id that no session has",
        )
    if found < revision:
        raise ConflictError("session revision", revision, found)


def hide_secrets(url: str) -> str:
    """Return `url` without its secrets: user, password and options.

    >>> (
    ...     hide_secrets("postgresql://me:secret@host:5432/db?sslpassword=x"),
    ...     hide_secrets("sessions.db"),
    ... )
    ('postgresql://***@host:5432/db?***', 'sessions.db')
    """
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url
    # The last `@` counts: an unquoted password may contain one.
    _, at, place = rest.rpartition("@")
    host, options, _ = place.partition("?")
    return scheme + mark + ("***@" if at else "") + host + ("?***" if options else "")
