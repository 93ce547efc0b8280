"""The store in a SQLite file: the embedded default. A path is all that its user gives."""

import sqlite3
import weakref
import zlib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zlib import compress, crc32, decompress

import orjson

from polycontext.linearity import InvalidDataError, InvalidOptionError, PolycontextError
from polycontext.linearity.effects import twin
from polycontext.pressure import ConflictError
from polycontext.window import Turn

from ..errors import StoreError
from ..journal.events import Event
from ..journal.rows import Row, event_of_row, ids_of, row_of, turn_of_row
from . import sqlite_schema as sql
from .search_query import AskedWords, found_in
from .session_store import Found, Opened, Rewritten, Snapshot, Stored, check_fork
from .sqlite_file import SQLiteFile, may_exist
from .word_index import drop_index, next_index

_LARGE = 1_000
"""Characters from which on what is no turn is kept compressed."""


class SQLiteStore:
    """Keep sessions in a SQLite file; any number of them, from any thread and event loop of one process.

    What `append` has returned from is on the disk, whatever happens then. Stores of one path share one connection; another process
    waits `timeout` seconds for it. Without `create`, a file that is not there is not made.

    Raises:
        StoreBusyError: another process has the file open; names it.
        StoreError: the file cannot be opened, is no store, or not there; says what to do.

    >>> from tempfile import mkdtemp
    >>> store = SQLiteStore(Path(mkdtemp()) / "sessions.db")
    >>> store.append("s", 0, [], {"notes": '{"seen":1}'})
    >>> store.load("s").companions, store.list_sessions()
    ({'notes': '{"seen":1}'}, ('s',))
    >>> store.close()
    """

    def __init__(self, path: str | Path, *, timeout: float = 5.0, create: bool = True) -> None:
        if not isinstance(path, str | Path) or not str(path) or "\0" in str(path):
            raise InvalidOptionError("path", path, 'the path of a file, such as "sessions.db"')
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0:
            raise InvalidOptionError("timeout", timeout, "a number of seconds, at least 0")
        if not create and not may_exist(Path(path)):
            raise StoreError(f"store {str(path)!r}", "no such file", "the path of a file in which sessions are kept")
        self._file = SQLiteFile.shared(Path(path), timeout)
        self._closing = weakref.finalize(self, self._file.release)

    @property
    def _open(self) -> SQLiteFile:
        if not self._closing.alive:
            raise StoreError(self._file.name, "it was closed", "opening it again")
        return self._file

    # --- reading ---------------------------------------------------------------------

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events behind revision `after` and the companions."""
        with self._reading() as db:
            session, revision = self._found(db, session_id)
            return Stored() if session is None else self._stored(db, session, after, revision)

    aload = twin(load)

    def opened(self, session_id: str) -> Opened | None:
        """Return a session as its newest snapshot has it and what came since; None where there is no snapshot that can be read."""
        with self._reading() as db:
            session, revision = self._found(db, session_id)
            head = db.execute("SELECT revision, body, checksum FROM heads WHERE session = ?", (session,)).fetchone()
            if session is None or head is None:
                return None
            pieces = db.execute("SELECT revision, body, checksum FROM pieces WHERE session = ? ORDER BY revision", (session,)).fetchall()
            # What is derived and damaged is left aside: the journal is there.
            if any(crc32(body) != checksum for _, body, checksum in [head, *pieces]) or not pieces or pieces[-1][0] != head[0]:
                return None
            stored = self._stored(db, session, head[0], revision)
        read = [(revision, body) for revision, body, _ in pieces]
        return Opened(read, head[1], stored, lambda first, last: self._turns_between(session_id, first, last))

    def search(self, session_id: str, query: str, limit: int) -> tuple[Found, ...]:
        """Return the turns of a session that say what `query` asks for, best first; what is new is indexed before (docs/search.md).

        Raises:
            StoreError: what is new could not be indexed; says what to do.
        """
        asked, made_anew = AskedWords.of(query), False
        while True:
            try:
                # Others write between two batches.
                with self._understood(self._open.transaction()) as db:
                    session, revision = self._found(db, session_id)
                    if session is None:
                        return ()
                    index = next_index(db, session, revision, partial(self._turns_in, db, session))
                    if index is not None:
                        hits = index.find(asked, limit)
                        turns = self._turns_at(db, session, [number for number, _ in hits])
                        return tuple(found_in(turns[number], asked, score) for number, score in hits if number in turns)
            except StoreError as error:
                if made_anew or getattr(error.__cause__, "sqlite_errorcode", None) != sqlite3.SQLITE_CORRUPT_VTAB:
                    raise
                made_anew = True
                # What is derived and damaged is made anew: the words are there.
                with self._open.transaction() as db:
                    drop_index(db, self._found(db, session_id)[0])

    def committed(self, session_id: str, key: str) -> int | None:
        """Return the revision to which the command of that key led, None where there was none."""
        with self._reading() as db:
            found = db.execute(
                "SELECT revision FROM commands WHERE session = (SELECT id FROM sessions WHERE name = ?) AND key = ?", (session_id, key)
            )
            return next((revision for (revision,) in found), None)

    def list_sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions, in alphabetical order."""
        with self._reading() as db:
            return tuple(sorted(name for (name,) in db.execute("SELECT name FROM sessions")))

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

        A task that is cancelled during `aappend` cannot know whether they were stored.

        Raises:
            ConflictError: the session does not stand at `base`.
            StoreError: nothing was stored; says what to do.
        """
        with self._open.transaction() as db:
            session, revision = self._found(db, session_id)
            if revision != base:
                raise ConflictError("session revision", base, revision)
            if session is None:
                session = db.execute("INSERT INTO sessions (name, revision) VALUES (?, 0)", (session_id,)).lastrowid
            assert session is not None
            self._file.known[session_id] = session, base + len(events)
            _add_events(db, session, base, events)
            _add_companions(db, session, companions)
            if key is not None:
                db.execute("INSERT INTO commands VALUES (?, ?, ?)", (session, key, base + len(events)))
            if snapshot is not None:
                _add_snapshot(db, session, base + len(events), snapshot)

    aappend = twin(append)

    def fork(self, session_id: str, new_id: str, revision: int, companions: Mapping[str, str]) -> None:
        """Store a session of the first `revision` events of another one, with these companions; texts are shared, keys are not.

        Raises:
            ConflictError: there is a session of that id, or the other one has not so many events.
        """
        with self._open.transaction() as db:
            there, events = self._found(db, new_id)
            session, found = self._found(db, session_id)
            check_fork(new_id, None if there is None else events, revision, found)
            fork = db.execute("INSERT INTO sessions (name, revision) VALUES (?, ?)", (new_id, revision)).lastrowid
            assert fork is not None
            self._file.known[new_id] = fork, revision
            db.execute(sql.FORK_EVENTS, (fork, session, revision))
            _add_companions(db, fork, companions)
            # A snapshot of later than the fork is none of it.
            if db.execute("SELECT 1 FROM heads WHERE session = ? AND revision <= ?", (session, revision)).fetchone():
                db.execute("INSERT INTO pieces SELECT ?, revision, body, checksum FROM pieces WHERE session = ?", (fork, session))
                db.execute("INSERT INTO heads SELECT ?, revision, body, checksum FROM heads WHERE session = ?", (fork, session))

    def holders(self, session_id: str, resource_ids: Collection[str]) -> dict[str, set[str]]:
        """Return by session the ids of all turns of the moment of one of these that have its words, or its id."""
        found: dict[str, set[str]] = {}
        with self._reading() as db:
            for resource_id in resource_ids:
                for name, its_id in db.execute(sql.HOLDERS, (session_id, resource_id)):
                    found.setdefault(name, set()).add(its_id)
        return found

    def rewrite(self, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of some sessions, all or none; what was replaced is nowhere in the store's files then.

        Raises:
            ConflictError: one of the sessions has not as many events as its `base` says.
        """
        with self._open.transaction() as db:
            for name, journal in journals.items():
                session, revision = self._found(db, name)
                if session is None or revision != journal.base:
                    raise ConflictError("session revision", journal.base, revision)
                self._file.known[name] = session, revision + len(journal.added)
                _replace_events(db, session, journal.events)
                _add_events(db, session, revision, journal.added)
                drop_index(db, session)
                for table in ("pieces", "heads"):
                    db.execute(sql.DELETE_ROWS.format(table=table), (session,))
        self._file.checkpoint()

    def delete(self, session_id: str) -> bool:
        """Forget a session with all that belongs to it; tell whether there was one. Its words are nowhere in the store's files then."""
        with self._open.transaction() as db:
            session, _ = self._found(db, session_id)
            if session is None:
                return False
            # Words that another session shares stay.
            db.execute(sql.DELETE_OWN_TEXTS, (session, session))
            drop_index(db, session)
            for table in sql.OF_A_SESSION:
                db.execute(sql.DELETE_ROWS.format(table=table), (session,))
            db.execute("DELETE FROM sessions WHERE id = ?", (session,))
            del self._file.known[session_id]
        self._file.checkpoint()
        return True

    def close(self) -> None:
        """Close the file if no other store of this process has it open."""
        self._closing()

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self._file.path)!r})"

    # --- inside ---------------------------------------------------------------------

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Hand out the connection to read from."""
        return self._understood(self._open.reading())

    @contextmanager
    def _understood(self, used: AbstractContextManager[sqlite3.Connection]) -> Generator[sqlite3.Connection]:
        """Hand out the connection; whatever cannot be read is damage."""
        with used as db:
            try:
                yield db
            except PolycontextError:
                raise
            except (TypeError, ValueError, AttributeError, zlib.error) as error:
                raise self._file.damaged(f"{type(error).__name__}: {error}") from error

    def _found(self, db: sqlite3.Connection, session_id: str) -> tuple[int | None, int]:
        """Return the number of a session, None where there is none, and its revision."""
        known = self._file.known.get(session_id)
        if known is not None:
            return known
        found = db.execute(sql.FIND, (session_id,)).fetchone()
        if found is None:
            return None, 0
        session, least, last = found
        self._check((last or 0) >= least, f"{last or 0} events are there of {least}")
        self._file.known[session_id] = session, last or 0
        return session, last or 0

    def _stored(self, db: sqlite3.Connection, session: int, after: int, revision: int) -> Stored:
        rows = db.execute(f"{sql.EVENTS} AND e.number > ? ORDER BY e.number", (session, after)).fetchall()
        events = list(self._events(db, session, rows, after))
        self._check(len(events) == max(0, revision - after), f"{len(events)} events are there of {revision - after}")
        companions = db.execute("SELECT name, body, checksum FROM companions WHERE session = ?", (session,)).fetchall()
        for name, body, checksum in companions:
            self._check(crc32(body.encode()) == checksum, f"companion {name!r}")
        snapshot = db.execute("SELECT revision FROM heads WHERE session = ?", (session,)).fetchone()
        return Stored(events, {name: body for name, body, _ in companions}, snapshot[0] if snapshot else 0)

    def _events(self, db: sqlite3.Connection, session: int, rows: Iterable[Any], after: int) -> Iterator[Event]:
        for number, (found, row) in enumerate(self._rows(rows), after + 1):
            self._check(found == number, f"event {number} is missing")
            try:
                yield event_of_row(row, lambda numbers: self._turns_at(db, session, numbers))
            except InvalidDataError as error:
                raise self.file_error(number, error) from error

    def _turns_at(self, db: sqlite3.Connection, session: int, numbers: Sequence[int]) -> dict[int, Turn]:
        found = (db.execute(f"{sql.EVENTS} AND e.number = ?", (session, number)).fetchone() for number in numbers)
        return dict(self._turns(row for row in found if row is not None))

    def _turns_between(self, session_id: str, first: int, last: int) -> tuple[Turn, ...]:
        with self._reading() as db:
            session, _ = self._found(db, session_id)
            return tuple(turn for _, turn in self._turns_in(db, session, first, last))

    def _turns_in(self, db: sqlite3.Connection, session: int | None, first: int, last: int) -> Iterator[tuple[int, Turn]]:
        where = f"{sql.EVENTS} AND e.number BETWEEN ? AND ? AND e.kind IN {sql.TURNS} ORDER BY e.number"
        return self._turns(db.execute(where, (session, first, last)).fetchall())

    def _turns(self, rows: Iterable[Any]) -> Iterator[tuple[int, Turn]]:
        for number, row in self._rows(rows):
            try:
                yield number, turn_of_row(row)
            except InvalidDataError as error:
                raise self.file_error(number, error) from error

    def _rows(self, rows: Iterable[Any]) -> Iterator[tuple[int, Row]]:
        """Return numbers and rows, each checked to be what was written."""
        for number, *columns, text, checksum, content, more, words in rows:
            self._check(_checksum(number, *columns) == checksum, f"event {number} is not what was written")
            self._check(text is None or words == _words_checksum(content, more), f"the words of event {number} are not what was written")
            yield number, Row._make([*columns, content, decompress(more).decode() if isinstance(more, bytes) else more])

    def _check(self, holds: object, what: str) -> None:
        if not holds:
            raise self._file.damaged(what)

    def file_error(self, number: int, error: InvalidDataError) -> Exception:
        """Return the error that says that event `number` cannot be read."""
        return self._file.damaged(f"event {number}: {error}")


def _add_events(db: sqlite3.Connection, session: int, base: int, events: Sequence[Event]) -> None:
    fresh: dict[str, int] | None = None

    def numbers(resource_ids: Sequence[str]) -> dict[str, int]:
        nonlocal fresh
        fresh = ids_of(events, base + 1) if fresh is None else fresh
        missing = [each for each in resource_ids if each not in fresh]
        return {**fresh, **_numbers_of(db, session, missing)} if missing else fresh

    for number, event in enumerate(events, base + 1):
        row = row_of(event, numbers)
        columns = row[:-2]
        db.execute(sql.ADD_EVENT, (session, number, *columns, _add_text(db, row), _checksum(number, *columns)))


def _replace_events(db: sqlite3.Connection, session: int, events: Mapping[int, Event]) -> None:
    """Put events into the places of others; words that no event has any more are gone."""
    replaced = []
    for number, event in events.items():
        row = row_of(event, partial(_numbers_of, db, session))
        columns = row[:-2]
        place = (session, number)
        replaced += db.execute("SELECT text FROM events WHERE session = ? AND number = ?", place).fetchone()
        db.execute("DELETE FROM events WHERE session = ? AND number = ?", place)
        db.execute(sql.ADD_EVENT, (*place, *columns, _add_text(db, row), _checksum(number, *columns)))
    db.execute(sql.DELETE_TEXTS, (orjson.dumps(replaced).decode(),))


def _numbers_of(db: sqlite3.Connection, session: int, resource_ids: Sequence[str]) -> dict[str, int]:
    """Return the numbers of the events with which turns came in; of an id that came in twice (the conversation went back between) the turn itself says which."""
    marks = ", ".join("?" * len(resource_ids))
    return dict(db.execute(sql.NUMBERS.format(marks=marks), (session, *resource_ids)).fetchall())


def _add_text(db: sqlite3.Connection, row: Row) -> int | None:
    more = _packed(row)
    if row.content is None and more is None:
        return None
    words = (row.content, more, _words_checksum(row.content, more))
    return db.execute("INSERT INTO texts (content, more, checksum) VALUES (?, ?, ?)", words).lastrowid


def _add_companions(db: sqlite3.Connection, session: int, companions: Mapping[str, str]) -> None:
    for name, body in companions.items():
        db.execute("INSERT OR REPLACE INTO companions VALUES (?, ?, ?, ?)", (session, name, body, crc32(body.encode())))


def _add_snapshot(db: sqlite3.Connection, session: int, revision: int, snapshot: Snapshot) -> None:
    (newest,) = db.execute("SELECT max(revision) FROM pieces WHERE session = ?", (session,)).fetchone()
    if snapshot.base == 0:
        db.execute("DELETE FROM pieces WHERE session = ?", (session,))
    elif snapshot.base != newest:
        return
    db.execute("UPDATE sessions SET revision = ? WHERE id = ?", (revision, session))
    db.execute("INSERT INTO pieces VALUES (?, ?, ?, ?)", (session, revision, snapshot.piece, crc32(snapshot.piece)))
    db.execute("INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?)", (session, revision, snapshot.head, crc32(snapshot.head)))


def _checksum(*values: object) -> int:
    return crc32(repr(values).encode())


def _words_checksum(content: str | None, more: str | bytes | None) -> int:
    rest = more if isinstance(more, bytes) else (more or "").encode()
    return crc32(rest, crc32((content or "").encode(), content is None))


def _packed(row: Row) -> str | bytes | None:
    """Return what a row has besides its words; what is large and not a turn, as gists are, in a third of its size."""
    if row.more is None or row.content is not None or len(row.more) < _LARGE:
        return row.more
    return compress(row.more.encode(), 1)
