"""The journal of a session in the tables of a SQLite store."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar
from zlib import compress, crc32, decompress

import orjson
from attrs import evolve, frozen

from polycontext.window import Turn

from ..journal.events import Event
from ..journal.rows import Row, event_of_row, row_of, rows_of, turn_of_row
from . import sqlite_schema as sql
from .session_store import Snapshot, Stored
from .sqlite_deletion import delete_rows, delete_unused

T = TypeVar("T")

_LARGE = 1_000
"""The number of characters from which data other than turns is compressed."""


@frozen
class SQLiteJournal:
    """Reads and writes the rows of one session through the connection `db`.

    `session` is its number, None if there is no such session, and `revision` how many events it
    has. The checksum of each row is verified; a row that differs raises `ValueError`.
    """

    db: sqlite3.Connection
    session: int | None
    revision: int

    @classmethod
    def find(cls, db: sqlite3.Connection, session_id: str) -> Self:
        """Return the journal of a session."""
        found = db.execute(sql.FIND, (session_id,)).fetchone()
        session, revision = found or (None, 0)
        return cls(db, session, revision)

    # --- reading ---------------------------------------------------------------------

    def load(self, after: int) -> Stored:
        """Return the events after `after`, and the companions."""
        where = f"{sql.EVENTS} AND e.number > ? ORDER BY e.number"
        rows = self.db.execute(where, (self.session, after)).fetchall()
        events = list(self._events(rows, after))
        _check(
            len(events) == max(0, self.revision - after),
            f"{len(events)} events are there of {self.revision - after}",
        )
        select = "SELECT name, body, checksum FROM companions WHERE session = ?"
        companions = {}
        for name, body, checksum in self.db.execute(select, (self.session,)):
            _check(crc32(body.encode()) == checksum, f"companion {name!r}")
            companions[name] = body
        return Stored(events, companions, self._newest())

    def snapshot(self) -> tuple[list[tuple[int, bytes]], bytes] | None:
        """Return the pieces and head of the newest snapshot, None if there is none."""
        select = "SELECT revision, piece, head FROM snapshots WHERE session = ? ORDER BY revision"
        rows = self.db.execute(select, (self.session,)).fetchall()
        return ([row[:2] for row in rows], rows[-1][2] or b"") if rows else None

    def turns_at(self, numbers: Sequence[int]) -> dict[int, Turn]:
        """Return the turns that some events added, by the events' numbers."""
        where = f"{sql.EVENTS} AND e.number = ?"
        found = (self.db.execute(where, (self.session, number)).fetchone() for number in numbers)
        return dict(self._turns(row for row in found if row is not None))

    def turns_between(self, first: int, last: int) -> Iterator[tuple[int, Turn]]:
        """Yield the turns that the events ``first..last`` added, each after its event's number."""
        return self._turns(self._rows_between(first, last, sql.TURNS))

    def steps_between(self, first: int, last: int) -> Iterator[tuple[int, Event]]:
        """Yield the events among ``first..last`` that add turns or rewind, after their numbers."""
        return self._numbered(self._rows_between(first, last, f"{sql.TURNS}, 'rewind'"))

    def _rows_between(self, first: int, last: int, kinds: str) -> Sequence[Any]:
        where = f"{sql.EVENTS} AND e.number BETWEEN ? AND ? AND e.kind IN ({kinds})"
        asked = (self.session, first, last)
        return self.db.execute(f"{where} ORDER BY e.number", asked).fetchall()

    def _newest(self) -> int:
        newest: int | None = self.db.execute(sql.SNAPSHOT, (self.session,)).fetchone()[0]
        return newest or 0

    def _events(self, rows: Iterable[Any], after: int) -> Iterator[Event]:
        for number, (found, event) in enumerate(self._numbered(rows), after + 1):
            _check(found == number, f"event {number} is missing")
            yield event

    def _numbered(self, rows: Iterable[Any]) -> Iterator[tuple[int, Event]]:
        return self._decoded(rows, lambda row: event_of_row(row, self.turns_at))

    def _turns(self, rows: Iterable[Any]) -> Iterator[tuple[int, Turn]]:
        return self._decoded(rows, turn_of_row)

    def _decoded(self, rows: Iterable[Any], decode: Callable[[Row], T]) -> Iterator[tuple[int, T]]:
        for number, *columns, text, checksum, content, more, words in rows:
            _check(
                _checksum(number, *columns) == checksum, f"event {number} is not what was written"
            )
            _check(
                text is None or words == _words_checksum(content, more),
                f"the words of event {number} are not what was written",
            )
            rest = decompress(more).decode() if isinstance(more, bytes) else more
            yield number, decode(Row._make([*columns, content, rest]))

    # --- writing ---------------------------------------------------------------------

    def begin(self, session_id: str, revision: int) -> Self:
        """Create a session that will have `revision` events, and return its journal."""
        insert = "INSERT INTO sessions (name, revision) VALUES (?, ?)"
        session = self.db.execute(insert, (session_id, revision)).lastrowid
        return evolve(self, session=session, revision=revision)

    def add_events(self, events: Sequence[Event]) -> None:
        """Store events after those that are there."""
        for number, row in rows_of(events, self.revision + 1, self._numbers_of):
            self._add_row(number, row)
        self.db.execute(sql.SET_REVISION, (self.revision + len(events), self.session))

    def replace_events(self, events: Mapping[int, Event]) -> None:
        """Replace events by their numbers, and delete texts that no event uses any more."""
        texts = list[int]()
        for number, event in events.items():
            row, place = row_of(event, self._numbers_of), (self.session, number)
            select = "SELECT text FROM events WHERE session = ? AND number = ?"
            texts += self.db.execute(select, place).fetchone()
            self.db.execute("DELETE FROM events WHERE session = ? AND number = ?", place)
            self._add_row(number, row)
        delete_unused(self.db, texts)

    def _numbers_of(self, resource_ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the events that added turns, by the turns' ids.

        An id that several events used, after a rewind, is left out; such a turn is stored itself.
        """
        sought = orjson.dumps(resource_ids).decode()
        return dict(self.db.execute(sql.NUMBERS, (self.session, sought)).fetchall())

    def _add_row(self, number: int, row: Row) -> None:
        *columns, content, rest = row
        more: str | bytes | None = rest
        if content is None and rest is not None and len(rest) >= _LARGE:
            more = compress(rest.encode(), 1)
        text = None
        if content is not None or more is not None:
            insert = "INSERT INTO texts (content, more, checksum) VALUES (?, ?, ?)"
            words = (content, more, _words_checksum(content, more))
            text = self.db.execute(insert, words).lastrowid
        values = (self.session, number, *columns, text, _checksum(number, *columns))
        self.db.execute(sql.ADD_EVENT, values)

    def add_companions(self, companions: Mapping[str, str]) -> None:
        """Store the companions that changed."""
        for name, body in companions.items():
            values = (self.session, name, body, crc32(body.encode()))
            self.db.execute(sql.PUT_COMPANION, values)

    def add_snapshot(self, revision: int, snapshot: Snapshot) -> None:
        """Store a snapshot if it continues the newest one, or replaces all (base 0)."""
        newest = self._newest()
        if snapshot.base == 0:
            delete_rows(self.db, self.session, "snapshots")
        elif snapshot.base != newest:
            return
        drop = "UPDATE snapshots SET head = NULL WHERE session = ? AND revision = ?"
        self.db.execute(drop, (self.session, newest))
        insert = "INSERT INTO snapshots VALUES (?, ?, ?, ?)"
        self.db.execute(insert, (self.session, revision, snapshot.piece, snapshot.head))

    def copy_to(self, fork: Self) -> None:
        """Copy the events that a fork has, and the snapshot unless it is later."""
        self.db.execute(sql.FORK_EVENTS, (fork.session, self.session, fork.revision))
        if self._newest() <= fork.revision:
            self.db.execute(sql.COPY_SNAPSHOT, (fork.session, self.session))


def _check(holds: object, what: str) -> None:
    """Raise if data differs from what was written."""
    if not holds:
        raise ValueError(what)


def _checksum(*values: object) -> int:
    return crc32(repr(values).encode())


def _words_checksum(content: str | None, more: str | bytes | None) -> int:
    rest = more if isinstance(more, bytes) else (more or "").encode()
    return crc32(rest, crc32((content or "").encode(), content is None))
