"""What a session asks of the place where it is kept (docs/stores.md)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from attrs import field, frozen

from polycontext.pressure import ConflictError
from polycontext.window import Role, Turn

from ..journal.events import Event


@frozen
class Stored:
    """Hold what a store has of one session: the events behind some revision, and its companions, as JSON texts, as they are now.

    What gists stand for may still be told by ranges, as it was written: see `evolve`. `snapshot` is
    the revision of the newest snapshot, 0 where there is none.
    """

    events: Sequence[Event] = ()
    companions: Mapping[str, str] = field(factory=dict)
    snapshot: int = 0


class SessionStore(Protocol):
    """Keep the journals of sessions.

    A session needs the first two methods; what the others do is asked for by those who need it.

    A store that waits for a disk or a network should be an `AsyncSessionStore` too.
    """

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events behind revision `after` and the companions.

        Nothing for a session that was never stored.
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
        """Store `events` behind revision `base`, and the companions that changed, all or none.

        And with them, where there is one, the `key` of the command.

        Raises:
            ConflictError: the session does not stand at `base`; somebody else was first.
        """
        ...

    def committed(self, session_id: str, key: str) -> int | None:
        """Return the revision to which the command of that key led.

        None where no such command was stored.
        """
        ...

    def list_sessions(self) -> Sequence[str]:
        """Return the ids of all sessions, in alphabetical order."""
        ...

    def delete(self, session_id: str) -> bool:
        """Forget a session with all that belongs to it; tell whether there was one."""
        ...

    def close(self) -> None:
        """Let go of what the store holds; closing it twice is closing it once."""
        ...


@runtime_checkable
class AsyncSessionStore(SessionStore, Protocol):
    """Keep the journals of sessions without blocking an event loop."""

    async def aload(self, session_id: str, after: int = 0) -> Stored:
        """Return what `load` returns."""
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
        """Store what `append` stores."""
        ...


@frozen
class Snapshot:
    """Hold where a session stood, so that opening it need not replay all that led there.

    `piece` tells what came to its ledger and log since the snapshot of revision `base`, `head` what
    stood in the view: both are
    opaque to a store. They are derived: without them everything is replayed.
    """

    base: int
    piece: bytes
    head: bytes


@frozen
class Opened:
    """Hold what a store has of a session with snapshots: the newest head, the pieces behind one another, each with its revision, and all events since.

    `turns` reads the turns that came in with the events ``first..last``, counted from 1.
    """

    pieces: Sequence[tuple[int, bytes]]
    head: bytes
    stored: Stored
    turns: Callable[[int, int], tuple[Turn, ...]]


@runtime_checkable
class SnapshotStore(SessionStore, Protocol):
    """Keep snapshots beside the journals.

    Snapshots are only ever given to `append`, and may be forgotten at any time.
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
        """Store what `SessionStore.append` stores, and the snapshot of where it leads.

        It takes the place of all others if its `base` is 0, goes behind the newest one if that is
        its `base`, and is left out otherwise.
        """
        ...

    def opened(self, session_id: str) -> Opened | None:
        """Return a session as its newest snapshot has it and what came since.

        None where there is no snapshot.
        """
        ...


@runtime_checkable
class ForkingStore(SessionStore, Protocol):
    """Keep sessions that share what they have in common.

    Where a store does not, a fork is a copy.
    """

    def fork(
        self, session_id: str, new_id: str, revision: int, companions: Mapping[str, str]
    ) -> None:
        """Store a session of the first `revision` events of another one, with these companions.

        Texts are shared, keys are not.

        Raises:
            ConflictError: there is a session of that id, or the other one has not so many events.
        """
        ...


@frozen
class Rewritten:
    """Hold what becomes of a journal of `base` events: those that take the place of others, by their numbers from 1, and those that come behind."""

    base: int
    events: Mapping[int, Event]
    added: Sequence[Event] = ()


@runtime_checkable
class ErasingStore(SessionStore, Protocol):
    """Keep sessions of which words can be erased: the one exception to a journal that is only added to."""

    def holders(
        self, session_id: str, resource_ids: Collection[str]
    ) -> Mapping[str, Collection[str]]:
        """Return by session the ids of all turns of the moment of one of these that have its words, or its id: in forks, copies, and the session itself."""
        ...

    def rewrite(self, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of some sessions, all or none.

        Snapshots go, and what was replaced cannot be read anywhere in the store then.

        Raises:
            ConflictError: one of the sessions has not as many events as its `base` says.
        """
        ...


@frozen
class Found:
    """Hold a turn that was found: `recall` takes its id, `snippet` is a line of what it says.

    The higher the `score` the better; scores of one search can be compared, and no others.
    """

    resource_id: str
    role: Role
    snippet: str
    score: float


@runtime_checkable
class SearchableStore(SessionStore, Protocol):
    """Search the journals of sessions where they are.

    Sessions of other stores are searched in memory.
    """

    def search(self, session_id: str, query: str, limit: int) -> Sequence[Found]:
        """Return at most `limit` turns of a session that say what `query` asks for, best first.

        None for a session that is not there.

        All that `append` has returned from is searched: turns, and no gists. Any text is a query:
        it is words, of which a turn says one at least, and phrases in double quotes, all of which
        it must say.
        """
        ...


def check_fork(new_id: str, there: int | None, revision: int, found: int) -> None:
    """Raise `ConflictError` where a session has `new_id` already, or the one to fork has fewer events than `revision`."""
    if there is not None:
        raise ConflictError(
            f"session {new_id!r}", "an id that no session has", f"one of {there} events"
        )
    if found < revision:
        raise ConflictError("session revision", revision, found)


def hide_secrets(url: str) -> str:
    """Return `url` without what may be secret in it: who opens it by which password, and its options.

    >>> hide_secrets("postgresql://me:secret@host:5432/db?sslpassword=x"), hide_secrets("sessions.db")
    ('postgresql://***@host:5432/db?***', 'sessions.db')
    """
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url
    # The last one: a password that nobody has quoted may hold any sign.
    _, at, place = rest.rpartition("@")
    host, options, _ = place.partition("?")
    return scheme + mark + ("***@" if at else "") + host + ("?***" if options else "")
