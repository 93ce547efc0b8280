"""The store on a PostgreSQL server: many machines, many processes, one session or many."""

import re
import weakref
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import isfinite
from random import uniform
from secrets import randbits
from time import monotonic, sleep

from attrs import evolve, field, frozen
from sqlalchemy import Connection

from polycontext.linearity import InvalidOptionError
from polycontext.pressure import ConflictError
from polycontext.window import Turn

from ...errors import StoreBusyError, StoreError
from ...journal.events import Event, TurnEvent
from ..search_query import AskedWords
from ..session_store import Found, Opened, Rewritten, Snapshot, Stored, hide_secrets
from .journals import Journals
from .maintenance import Altering
from .schema import escape, unescape
from .server import PostgreSQLServer

_SCHEMA = re.compile(r"(?!pg_)[A-Za-z_][A-Za-z0-9_]{0,62}")
_LONGEST_NAME = 2_000
"""Bytes of an id, a key or a companion's name: what an index can hold."""

_TURN = (0.002, 0.01)
"""Seconds until a writer looks again whether it is its turn."""


@frozen
class _Late:
    """Hold who writes a session, a thread or a task, and how often in a row it was too late."""

    session_id: str
    writer: int = field(factory=lambda: randbits(63))
    lost: int = 0


_LATE: ContextVar[_Late | None] = ContextVar("polycontext_late", default=None)


@frozen
class _Commit:
    """Hold what is to be stored at once, and a number by which it is known again."""

    by: _Late
    base: int
    events: Sequence[Event]
    companions: Mapping[str, str]
    key: str | None
    snapshot: Snapshot | None
    number: int = field(factory=lambda: randbits(63))

    @property
    def name(self) -> str:
        """Return the id of the session."""
        return self.by.session_id

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield what an index has to hold, and what it is."""
        yield "session_id", self.name
        yield "idempotency_key", self.key or ""
        yield from (("companion", name) for name in self.companions)

    def store(self, journals: Journals, db: Connection) -> int | None:
        """Store it, and return None.

        Or return where the session stands: at `base`, if it is another writer's turn. Done twice,
        it is done once.
        """
        to = self.base + len(self.events)
        session = self._move(journals, db)
        if session is not None:
            journals.add_beside(db, session, to, self.companions, self.key)
            if self.snapshot is not None:
                journals.add_snapshot(db, session, to, self.snapshot)
            return None
        # If these events are there already, it was only the answer to their commit that was lost.
        if self.events and journals.has(db, self.name, self.base + 1, self.number):
            return None
        _, found = journals.found(db, self.name)
        if found != self.base and self.by.lost:
            journals.reserve(db, self.name, self.by.writer)
        return found

    def _move(self, journals: Journals, db: Connection) -> int | None:
        """Move the session and store the events.

        Return its number, None where it does not stand at `base`.
        """
        match self.events:
            case [TurnEvent() as event] if self.base:
                return journals.moved_by_turn(
                    db, self.name, self.base, event, commit=self.number, writer=self.by.writer
                )
            case events:
                session = journals.moved(
                    db, self.name, self.base, self.base + len(events), self.by.writer
                )
                if session is not None:
                    journals.add_events(db, session, self.base, events, self.number)
                return session


@contextmanager
def _counting(session_id: str) -> Generator[_Late]:
    """Tell who writes, and count how often in a row it was too late."""
    late = _LATE.get()
    late = late if late is not None and late.session_id == session_id else _Late(session_id)
    try:
        yield late
    except ConflictError:
        _LATE.set(evolve(late, lost=late.lost + 1))
        raise
    _LATE.set(None)


class PostgreSQLStore:
    """Keep sessions on a PostgreSQL server, in a schema of their own.

    Any number of them, from any thread, event loop, process and machine.

    What `append` has returned from is as durable as the server's commits are. `timeout` bounds in
    seconds how long a server, a connection or another writer is waited for; `pool` is the number of
    connections. Stores of one URL share them within a process.

    Raises:
        InvalidOptionError: an argument is out of its range.
        StoreError: the server cannot be used; says what to do, and shows no secret of the URL.

    The method `append` is a compare-and-swap on the revision: docs/stores.md tells what follows for
    two writers.
    """

    def __init__(
        self, url: str, *, timeout: float = 5.0, schema: str = "polycontext", pool: int = 5
    ) -> None:
        if (
            isinstance(timeout, bool)
            or not isinstance(timeout, int | float)
            or not (timeout >= 0 and isfinite(timeout))
        ):
            raise InvalidOptionError("timeout", timeout, "a number of seconds, at least 0")
        if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
            raise InvalidOptionError(
                "schema",
                schema,
                "at most 63 letters, digits and _, not beginning with a digit or pg_",
            )
        if isinstance(pool, bool) or not isinstance(pool, int) or pool < 1:
            raise InvalidOptionError("pool", pool, "a number of connections, at least 1")
        self._url = hide_secrets(url)
        self._shared = PostgreSQLServer.shared(url, schema, float(timeout), pool)
        self._journals = Journals(self._shared.statements, self._shared.damaged)
        self._altering = Altering(self._shared.tables, self._journals)
        self._closing = weakref.finalize(self, self._shared.release)

    @property
    def _server(self) -> PostgreSQLServer:
        if not self._closing.alive:
            raise StoreError(self._shared.name, "it was closed", "Open it again")
        return self._shared

    # --- reading ---------------------------------------------------------------------

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events behind revision `after` and the companions."""
        return self._server.read(lambda db: self._journals.stored(db, session_id, after))

    def opened(self, session_id: str) -> Opened | None:
        """Return a session as its newest snapshot has it and what came since.

        None where there is no snapshot.
        """
        found = self._server.read(lambda db: self._journals.snapshot(db, session_id))
        return None if found is None else Opened(*found, partial(self._turns_between, session_id))

    def committed(self, session_id: str, key: str) -> int | None:
        """Return the revision to which the command of that key led, None where there was none."""
        asked = {"called": escape(session_id), "key": escape(key)}
        return self._server.read(lambda db: db.scalar(self._journals.sql.command, asked))

    def list_sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions, in alphabetical order."""
        return tuple(
            sorted(
                map(
                    unescape,
                    self._server.read(lambda db: db.scalars(self._journals.sql.names).all()),
                )
            )
        )

    # --- writing ---------------------------------------------------------------------

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
        """Store `events` behind revision `base`, the companions that changed, the key of the command, and a snapshot; durably, all or none.

        Raises:
            ConflictError: the session does not stand at `base`.
            StoreError: it could not be stored; says what to do, and whether it is known that
                nothing was.
        """
        with _counting(session_id) as late:
            self._store(_Commit(late, base, events, companions, key, snapshot))

    def fork(
        self, session_id: str, new_id: str, revision: int, companions: Mapping[str, str]
    ) -> None:
        """Store a session of the first `revision` events of another one, with these companions.

        Texts are shared, keys are not.

        Raises:
            ConflictError: there is a session of that id, or the other one has not so many events.
        """
        self._server.write(
            lambda db: self._altering.fork(db, session_id, new_id, revision, companions)
        )

    def holders(self, session_id: str, resource_ids: Collection[str]) -> dict[str, set[str]]:
        """Return by session the ids of all turns of the moment of one of these that have its words, or its id."""
        return self._server.read(lambda db: self._altering.holders(db, session_id, resource_ids))

    def rewrite(self, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of some sessions, all or none.

        What was replaced is in no row then, and once the tables are vacuumed in no file.

        Raises:
            ConflictError: one of the sessions has not as many events as its `base` says.
        """
        self._server.write(lambda db: self._altering.rewrite(db, journals))

    def search(self, session_id: str, query: str, limit: int) -> tuple[Found, ...]:
        """Return at most `limit` turns that say what `query` asks for, best first.

        What is new is indexed before.
        """
        asked = AskedWords.of(query)
        while not self._server.write(lambda db: self._altering.index(db, session_id)):
            pass
        return self._server.read(lambda db: self._altering.search(db, session_id, asked, limit))

    def delete(self, session_id: str) -> bool:
        """Forget a session with all that belongs to it; tell whether there was one.

        Its words are in no row then.
        """
        there = False

        def work(db: Connection) -> bool:
            nonlocal there
            # Where the answer to a commit was lost, it is gone the second time.
            there = self._journals.deleted(db, session_id) or there
            return there

        return self._server.write(work)

    def close(self) -> None:
        """Close the connections if no other store of this process shares them."""
        self._closing()

    # --- for tasks ---------------------------------------------------------------------

    async def aload(self, session_id: str, after: int = 0) -> Stored:
        """Return what `load` returns, without blocking the event loop."""
        return await self._server.without_blocking(partial(self.load, session_id, after))

    async def aappend(
        self,
        session_id: str,
        base: int,
        events: Sequence[Event],
        companions: Mapping[str, str],
        *,
        key: str | None = None,
        snapshot: Snapshot | None = None,
    ) -> None:
        """Store what `append` stores, without blocking the event loop.

        Who is cancelled meanwhile does not know whether it was stored.
        """
        with _counting(session_id) as late:
            await self._server.without_blocking(
                partial(self._store, _Commit(late, base, events, companions, key, snapshot))
            )

    def __repr__(self) -> str:
        return f"PostgreSQLStore({self._url!r})"

    # --- inside ---------------------------------------------------------------------

    def _store(self, commit: _Commit) -> None:
        for what, name in commit.names():
            if len(escape(name).encode()) > _LONGEST_NAME:
                raise InvalidOptionError(what, name, f"at most {_LONGEST_NAME:,} bytes")
        server, end = self._server, monotonic() + self._shared.timeout
        while (found := server.write(partial(commit.store, self._journals))) == commit.base:
            if monotonic() > end:
                problem = f"other writers were let first for more than the {server.timeout:g} seconds that were waited"
                raise StoreBusyError(server.name, problem, "Try again, or raise the timeout")
            sleep(uniform(*_TURN))
        if found is not None:
            raise ConflictError("session revision", commit.base, found)

    def _turns_between(self, session_id: str, first: int, last: int) -> tuple[Turn, ...]:
        return self._server.read(
            lambda db: self._journals.turns_between(db, session_id, first, last)
        )
