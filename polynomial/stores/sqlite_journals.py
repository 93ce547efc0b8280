"""Journals in the tables of a SQLite store: reads and writes through the file's connection."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar
from zlib import compress, crc32, decompress

import orjson
from attrs import frozen

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
class SQLiteJournals:
    """Reads and writes the rows of a session, by its number, through the connection `db`.

    The checksum of each row is verified; a row that differs raises `ValueError`.
    """

    db: sqlite3.Connection

    # --- reading ---------------------------------------------------------------------

    def find(self, session_id: str) -> tuple[int | None, int]:
        """Return the number of a session (None if there is none) and its revision."""
        return self.db.execute(sql.FIND, (session_id,)).fetchone() or (None, 0)

    def load(self, session: int, after: int, revision: int) -> Stored:
        """Return the events of a session from `after` to `revision`, and its companions."""
        where = f"{sql.EVENTS} AND e.number > ? ORDER BY e.number"
        rows = self.db.execute(where, (session, after)).fetchall()
        events = list(self._events(session, rows, after))
        _check(
            len(events) == max(0, revision - after),
            f"{len(events)} events are there of {revision - after}",
        )
        select = "SELECT name, body, checksum FROM companions WHERE session = ?"
        companions = {}
        for name, body, checksum in self.db.execute(select, (session,)):
            _check(crc32(body.encode()) == checksum, f"companion {name!r}")
            companions[name] = body
        return Stored(events, companions, self._newest(session))

    def snapshot(self, session: int) -> tuple[list[tuple[int, bytes]], bytes] | None:
        """Return the pieces and head of a session's newest snapshot, None if there is none."""
        select = "SELECT revision, piece, head FROM snapshots WHERE session = ? ORDER BY revision"
        rows = self.db.execute(select, (session,)).fetchall()
        return ([row[:2] for row in rows], rows[-1][2] or b"") if rows else None

    def turns_at(self, session: int, numbers: Sequence[int]) -> dict[int, Turn]:
        """Return the turns that some events added, by the events' numbers."""
        where = f"{sql.EVENTS} AND e.number = ?"
        found = (self.db.execute(where, (session, number)).fetchone() for number in numbers)
        return dict(self._turns(row for row in found if row is not None))

    def turns_between(
        self, session: int | None, first: int, last: int
    ) -> Iterator[tuple[int, Turn]]:
        """Yield the turns that the events ``first..last`` added, each after its event's number."""
        return self._turns(self._rows_between(session, first, last, sql.TURNS))

    def steps_between(self, session: int, first: int, last: int) -> Iterator[tuple[int, Event]]:
        """Yield the events among ``first..last`` that add turns or rewind, after their numbers."""
        rows = self._rows_between(session, first, last, f"{sql.TURNS}, 'rewind'")
        return self._numbered(session, rows)

    def _rows_between(
        self, session: int | None, first: int, last: int, kinds: str
    ) -> Sequence[Any]:
        where = f"{sql.EVENTS} AND e.number BETWEEN ? AND ? AND e.kind IN ({kinds})"
        return self.db.execute(f"{where} ORDER BY e.number", (session, first, last)).fetchall()

    def _newest(self, session: int | None) -> int:
        newest: int | None = self.db.execute(sql.SNAPSHOT, (session,)).fetchone()[0]
        return newest or 0

    def _events(self, session: int, rows: Iterable[Any], after: int) -> Iterator[Event]:
        for number, (found, event) in enumerate(self._numbered(session, rows), after + 1):
            _check(found == number, f"event {number} is missing")
            yield event

    def _numbered(self, session: int, rows: Iterable[Any]) -> Iterator[tuple[int, Event]]:
        turns_at = partial(self.turns_at, session)
        return self._decoded(rows, lambda row: event_of_row(row, turns_at))

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

    def begin(self, session_id: str, revision: int) -> int:
        """Create a session and return its number.

        `revision` is the event count to store in its row.
        """
        insert = "INSERT INTO sessions (name, revision) VALUES (?, ?)"
        session = self.db.execute(insert, (session_id, revision)).lastrowid
        assert session is not None
        return session

    def add_events(self, session: int, base: int, events: Sequence[Event]) -> None:
        """Store events after those up to `base`."""
        rows = rows_of(events, base + 1, lambda ids: self._numbers_of(session, ids))
        for number, row in rows:
            self._add_row(session, number, row)
        self.db.execute(sql.SET_REVISION, (base + len(events), session))

    def replace_events(self, session: int, events: Mapping[int, Event]) -> None:
        """Replace events by their numbers, and delete texts that no event uses any more."""
        texts = list[int]()
        for number, event in events.items():
            row = row_of(event, lambda ids: self._numbers_of(session, ids))
            place = (session, number)
            select = "SELECT text FROM events WHERE session = ? AND number = ?"
            texts += self.db.execute(select, place).fetchone()
            self.db.execute("DELETE FROM events WHERE session = ? AND number = ?", place)
            self._add_row(session, number, row)
        delete_unused(self.db, texts)

    def _numbers_of(self, session: int, resource_ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the events that added turns, by the turns' ids.

        An id that several events used, after a rewind, is left out; such a turn is stored itself.
        """
        sought = orjson.dumps(resource_ids).decode()
        return dict(self.db.execute(sql.NUMBERS, (session, sought)).fetchall())

    def _add_row(self, session: int, number: int, row: Row) -> None:
        *columns, content, rest = row
        more: str | bytes | None = rest
        if content is None and rest is not None and len(rest) >= _LARGE:
            more = compress(rest.encode(), 1)
        text = None
        if content is not None or more is not None:
            insert = "INSERT INTO texts (content, more, checksum) VALUES (?, ?, ?)"
            words = (content, more, _words_checksum(content, more))
            text = self.db.execute(insert, words).lastrowid
        values = (session, number, *columns, text, _checksum(number, *columns))
        self.db.execute(sql.ADD_EVENT, values)

    def add_companions(self, session: int, companions: Mapping[str, str]) -> None:
        """Store the companions that changed."""
        for name, body in companions.items():
            values = (session, name, body, crc32(body.encode()))
            self.db.execute(sql.PUT_COMPANION, values)

    def add_snapshot(self, session: int, revision: int, snapshot: Snapshot) -> None:
        """Store a snapshot if it continues the newest one, or replaces all (base 0)."""
        newest = self._newest(session)
        if snapshot.base == 0:
            delete_rows(self.db, session, "snapshots")
        elif snapshot.base != newest:
            return
        drop = "UPDATE snapshots SET head = NULL WHERE session = ? AND revision = ?"
        self.db.execute(drop, (session, newest))
        insert = "INSERT INTO snapshots VALUES (?, ?, ?, ?)"
        self.db.execute(insert, (session, revision, snapshot.piece, snapshot.head))

    def copy_snapshot(self, session: int | None, fork: int, revision: int) -> None:
        """Copy the snapshot of a session to its fork.

        A snapshot later than `revision` is not copied.
        """
        if self._newest(session) <= revision:
            self.db.execute(sql.COPY_SNAPSHOT, (fork, session))


def _check(holds: object, what: str) -> None:
    """Raise if data differs from what was written."""
    if not holds:
        raise ValueError(what)


def _checksum(*values: object) -> int:
    return crc32(repr(values).encode())


def _words_checksum(content: str | None, more: str | bytes | None) -> int:
    rest = more if isinstance(more, bytes) else (more or "").encode()
    return crc32(rest, crc32((content or "").encode(), content is None))
