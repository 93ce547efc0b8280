"""The PostgreSQL store, which many machines and processes can share."""

import re
import weakref
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import isfinite
from random import uniform
from secrets import randbits
from time import monotonic, sleep
from typing import Any

from attrs import evolve, field, frozen
from sqlalchemy import Connection

from polycontext.base import InvalidOptionError, is_number, is_whole, require
from polycontext.polynomial import StoreBusyError, StoreError
from polycontext.polynomial.journal import Event, TurnEvent
from polycontext.polynomial.stores import (
    AskedWords,
    Found,
    Opened,
    Rewritten,
    Snapshot,
    Stored,
    check_fork,
    hide_secrets,
)
from polycontext.pressure import ConflictError
from polycontext.window import Turn

from . import schema as sql
from .journals import PostgreSQLJournal, turn_row
from .schema import escape, unescape
from .server import PostgreSQLServer

_SCHEMA = re.compile(r"(?!pg_)[A-Za-z_][A-Za-z0-9_]{0,62}")
_LONGEST_NAME = 2_000
"""The maximum bytes of an id, a key or a companion's name, so that they fit into an index."""

_TURN = (0.002, 0.01)
"""The range of seconds after which a writer tries again while a session is reserved for another."""


@frozen
class _Late:
    """A writer of a session (a thread or a task), and how often in a row it came too late."""

    session_id: str
    writer: int = field(factory=lambda: randbits(63))
    lost: int = 0


_LATE: ContextVar[_Late | None] = ContextVar("polycontext_late", default=None)


@frozen
class _Commit:
    """Data to store in one transaction, with a number that identifies the commit."""

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
        """Yield the values that must fit into an index, each after its name."""
        yield "session_id", self.name
        yield "idempotency_key", self.key or ""
        yield from (("companion", name) for name in self.companions)

    @property
    def revision(self) -> int:
        """Return the revision that the commit leads to."""
        return self.base + len(self.events)

    def store(self, damaged: Callable[[str], StoreError], db: Connection) -> int | None:
        """Store the commit and return None; otherwise return the session's revision.

        That is `base` if the session is reserved for another writer. Idempotent.
        """
        called = {"called": escape(self.name)}
        session = self._move(damaged, db, {**called, "writer": self.by.writer})
        if session is not None:
            journal = PostgreSQLJournal(db, damaged, session, self.revision)
            journal.add_beside(self.companions, self.key, self.snapshot)
            return None
        # If these events are stored already, only the answer to their commit was lost.
        at = {**called, "number": self.base + 1}
        if self.events and db.scalar(sql.COMMIT_AT, at) == self.number:
            return None
        found = PostgreSQLJournal.find(db, damaged, self.name).revision
        if found != self.base and self.by.lost:
            db.execute(sql.IN_PASSING)
            reserved = {"writer": self.by.writer, "reserved": sql.RESERVED}
            db.execute(sql.RESERVE, {**called, **reserved})
        return found

    def _move(
        self, damaged: Callable[[str], StoreError], db: Connection, where: dict[str, Any]
    ) -> int | None:
        """Move the session, store the events and return the session's number.

        Return None if the session is not at `base`. Other writers wait until this transaction ends.
        """
        where |= {"base": self.base, "to": self.revision}
        session: int | None
        match self.events:
            case [TurnEvent() as event] if self.base:
                row = turn_row(event, self.revision, self.number)
                session = db.scalar(sql.ADD_TURN, {**where, **row})
            case events:
                session = db.scalar(sql.MOVE, where)
                if session is None and self.base == 0:
                    session = db.scalar(sql.BEGIN, where)
                if session is not None:
                    journal = PostgreSQLJournal(db, damaged, session, self.base)
                    journal.add_events(events, self.number)
        return session


@contextmanager
def _counting(session_id: str) -> Generator[_Late]:
    """Identify the writer, and count how often in a row it came too late."""
    late = _LATE.get()
    late = late if late is not None and late.session_id == session_id else _Late(session_id)
    try:
        yield late
    except ConflictError:
        _LATE.set(evolve(late, lost=late.lost + 1))
        raise
    _LATE.set(None)


class PostgreSQLStore:
    """A store for sessions on a PostgreSQL server, in a schema of their own.

    It can be used from any thread, event loop, process and machine. Once `append` returns, the data
    is as durable as the server's commits. `append` is a compare-and-swap on the revision; see
    docs/stores.md for concurrent writers. Stores with the same URL share their connections within a
    process.

    Args:
        timeout: how many seconds to wait for a server, a connection or another writer.
        pool: the number of connections.

    Raises:
        InvalidOptionError: an argument is out of its range.
        StoreError: the server cannot be used; says what to do, and shows no secret of the URL.
    """

    def __init__(
        self, url: str, *, timeout: float = 5.0, schema: str = "polycontext", pool: int = 5
    ) -> None:
        waits = is_number(timeout, 0) and isfinite(timeout)
        require("timeout", timeout, waits, "a number of seconds, at least 0")
        is_name = isinstance(schema, str) and _SCHEMA.fullmatch(schema)
        legal = "at most 63 letters, digits and _, not beginning with a digit or pg_"
        require("schema", schema, is_name, legal)
        require("pool", pool, is_whole(pool, 1), "a number of connections, at least 1")
        self._url = hide_secrets(url)
        self._shared = PostgreSQLServer.shared(url, schema, float(timeout), pool)
        self._closing = weakref.finalize(self, self._shared.release)

    @property
    def _server(self) -> PostgreSQLServer:
        if not self._closing.alive:
            raise StoreError(self._shared.name, "it was closed", "Open it again")
        return self._shared

    # --- reading ---------------------------------------------------------------------

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events after revision `after`, and the companions."""
        return self._server.read(lambda db: self._find(db, session_id).load(after))

    def opened(self, session_id: str) -> Opened | None:
        """Return a session as its newest snapshot and the events since.

        Return None if there is no snapshot.
        """
        found = self._server.read(lambda db: self._find(db, session_id).opened())
        return None if found is None else Opened(*found, partial(self._turns_between, session_id))

    def committed(self, session_id: str, key: str) -> int | None:
        """Return the revision to which the command with that key led, None if there is none."""
        asked = {"called": escape(session_id), "key": escape(key)}
        found: int | None = self._server.read(lambda db: db.scalar(sql.COMMAND, asked))
        return found

    def list_sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions, in alphabetical order."""
        return tuple(
            sorted(
                map(
                    unescape,
                    self._server.read(lambda db: db.scalars(sql.NAMES).all()),
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
        """Append `events` at revision `base`, with companions, key and snapshot, all or none.

        Once it returns, the data is durable.

        Raises:
            ConflictError: the session is not at revision `base`.
            StoreError: it failed; says what to do, and whether it is known that nothing was stored.
        """
        with _counting(session_id) as late:
            self._store(_Commit(late, base, events, companions, key, snapshot))

    def fork(
        self, session_id: str, new_id: str, revision: int, companions: Mapping[str, str]
    ) -> None:
        """Create a session with the first `revision` events of another one, and these companions.

        Texts are shared; keys are not copied.

        Raises:
            ConflictError: the new id is taken, or the other session has fewer events.
        """

        def work(db: Connection) -> None:
            there, journal = self._find(db, new_id), self._find(db, session_id)
            taken = None if there.session is None else there.revision
            check_fork(new_id, taken, revision, journal.revision)
            session = db.scalar(sql.BEGIN, {"called": escape(new_id), "to": revision})
            if session is None:  # another writer was first
                check_fork(new_id, 0, revision, journal.revision)
            fork = evolve(there, session=session, revision=revision)
            journal.copy_to(fork)
            fork.add_beside(companions, None, None)

        self._server.write(work)

    def holders(self, session_id: str, resource_ids: Collection[str]) -> dict[str, set[str]]:
        """Return, by session, the ids of the turns that may be copies of these.

        A copy has the same time and role.
        """
        return self._server.read(lambda db: self._find(db, session_id).holders(resource_ids))

    def rewrite(self, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of several sessions, all or none.

        Afterwards no row contains what was replaced; once the tables are vacuumed, no file does.

        Raises:
            ConflictError: a session does not have as many events as its `base` says.
        """

        def work(db: Connection) -> None:
            # Sessions are locked in alphabetical order, so concurrent calls wait for one another.
            for name, rewritten in sorted(journals.items()):
                journal = self._find(db, name, locks=True)
                if journal.session is None or journal.revision != rewritten.base:
                    raise ConflictError("session revision", rewritten.base, journal.revision)
                commit = randbits(63)
                journal.replace_events(rewritten.events, commit)
                journal.add_events(rewritten.added, commit)
                journal.run(sql.DROP_SNAPSHOTS)
                journal.run(sql.DROP_WORDS)
                journal.run(sql.SET_REVISION, revision=rewritten.base + len(rewritten.added))

        self._server.write(work)

    def search(self, session_id: str, query: str, limit: int) -> tuple[Found, ...]:
        """Return at most `limit` turns that match `query`, best first.

        New turns are indexed first.
        """
        asked = AskedWords.of(query)
        while not self._server.write(lambda db: self._find(db, session_id).index_some()):
            pass
        return self._server.read(lambda db: self._find(db, session_id).search(asked, limit))

    def delete(self, session_id: str) -> bool:
        """Delete a session with all its data; return whether there was one.

        Afterwards no row contains its text.
        """
        there = False

        def work(db: Connection) -> bool:
            nonlocal there
            # If the answer to a commit was lost, the retry finds no session.
            there = self._find(db, session_id, locks=True).delete() or there
            return there

        return self._server.write(work)

    def close(self) -> None:
        """Close the connections if no other store of this process shares them."""
        self._closing()

    # --- for tasks ---------------------------------------------------------------------

    async def aload(self, session_id: str, after: int = 0) -> Stored:
        """Do the same as `load` without blocking the event loop."""
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
        """Do the same as `append` without blocking the event loop.

        If the task is cancelled, it is not known whether the data was stored.
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
        while (found := server.write(partial(commit.store, server.damaged))) == commit.base:
            if monotonic() > end:
                problem = (
                    f"other writers were let first for more than the {server.timeout:g} seconds "
                    "that were waited"
                )
                raise StoreBusyError(server.name, problem, "Try again, or raise the timeout")
            sleep(uniform(*_TURN))
        if found is not None:
            raise ConflictError("session revision", commit.base, found)

    def _turns_between(self, session_id: str, first: int, last: int) -> tuple[Turn, ...]:
        return self._server.read(lambda db: self._find(db, session_id).turns_between(first, last))

    def _find(self, db: Connection, session_id: str, *, locks: bool = False) -> PostgreSQLJournal:
        return PostgreSQLJournal.find(db, self._shared.damaged, session_id, locks=locks)
