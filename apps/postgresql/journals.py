"""Journals in the tables of a PostgreSQL store: reads and writes within one transaction."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from polycontext.base import InvalidDataError
from polycontext.polynomial import StoreError
from polycontext.polynomial.journal import Event, TurnEvent
from polycontext.polynomial.journal.rows import Row, event_of_row, row_of, rows_of, turn_of_row
from polycontext.polynomial.stores import Snapshot, Stored
from polycontext.window import Turn

from . import schema as sql
from .schema import EVENT_COLUMNS, escape, unescape

T = TypeVar("T")


class Journals:
    """Reads and writes the rows of a session, by its number or name, through a connection.

    `damaged` makes the error for rows that cannot be read.
    """

    def __init__(self, damaged: Callable[[str], StoreError]) -> None:
        self._damaged = damaged

    # --- reading ---------------------------------------------------------------------

    def found(self, db: Connection, name: str) -> tuple[int | None, int]:
        """Return the number of a session (None if there is none) and its revision."""
        found = db.execute(sql.SESSION, {"called": escape(name)}).first()
        return (None, 0) if found is None else (found.id, found.revision)

    def stored(self, db: Connection, name: str, after: int) -> Stored:
        """Return the events of a session after revision `after`, and its companions."""
        session, revision = self.found(db, name)
        return Stored() if session is None else self._stored(db, session, after, revision)

    def snapshot(
        self, db: Connection, name: str
    ) -> tuple[list[tuple[int, bytes]], bytes, Stored] | None:
        """Return the pieces and head of a session's newest snapshot, and the events since.

        Return None if there is no snapshot.
        """
        session, revision = self.found(db, name)
        rows = db.execute(sql.SNAPSHOTS, {"session": session}).all()
        if session is None or not rows:
            return None
        pieces = [(row.revision, bytes(row.piece)) for row in rows]
        newest = rows[-1]
        stored = self._stored(db, session, newest.revision, revision)
        return pieces, bytes(newest.head or b""), stored

    def turns_between(self, db: Connection, name: str, first: int, last: int) -> tuple[Turn, ...]:
        """Return the turns that the events ``first..last`` added."""
        session, _ = self.found(db, name)
        return () if session is None else tuple(self.turns(db, session, first, last).values())

    def turns(self, db: Connection, session: int, first: int, last: int) -> dict[int, Turn]:
        """Return the turns that the events ``first..last`` added, by the events' numbers."""
        return self._turns(
            db.execute(sql.TURNS, {"session": session, "first": first, "last": last})
        )

    def _stored(self, db: Connection, session: int, after: int, revision: int) -> Stored:
        rows = (
            db.execute(sql.EVENTS, {"session": session, "after": after}) if after < revision else ()
        )
        events = [event for _, event in self._events(db, session, rows)]
        if len(events) != max(0, revision - after):
            raise self._damaged(f"{len(events)} events are there of {revision - after}")
        companions = {
            unescape(name): unescape(body)
            for name, body in db.execute(sql.COMPANIONS, {"session": session})
        }
        return Stored(events, companions, db.scalar(sql.NEWEST, {"session": session}) or 0)

    def steps(
        self, db: Connection, session: int, first: int, last: int
    ) -> Iterator[tuple[int, Event]]:
        """Yield the events among ``first..last`` that add turns or rewind, after their numbers."""
        where = {"session": session, "first": first, "last": last}
        return self._events(db, session, db.execute(sql.STEPS, where))

    def _events(
        self, db: Connection, session: int, rows: Iterable[Any]
    ) -> Iterator[tuple[int, Event]]:
        turns_at = partial(self.turns_at, db, session)
        for number, row in _rows(rows):
            yield number, self._read(number, lambda row: event_of_row(row, turns_at), row)

    def turns_at(self, db: Connection, session: int, numbers: Sequence[int]) -> dict[int, Turn]:
        """Return the turns that some events added, by the events' numbers."""
        return (
            self._turns(db.execute(sql.TURNS_AT, {"session": session, "numbers": [*numbers]}))
            if numbers
            else {}
        )

    def _turns(self, rows: Iterable[Any]) -> dict[int, Turn]:
        return {number: self._read(number, turn_of_row, row) for number, row in _rows(rows)}

    def _read(self, number: int, reader: Callable[[Row], T], row: Row) -> T:
        try:
            return reader(row)
        except InvalidDataError as error:
            raise self._damaged(f"event {number}: {error}") from error

    # --- writing ---------------------------------------------------------------------

    def moved(self, db: Connection, name: str, base: int, to: int, writer: int) -> int | None:
        """Move a session from revision `base` to revision `to` and return its number.

        Return None if it is not at `base`. Other writers wait until this transaction ends.
        """
        session: int | None = db.scalar(
            sql.MOVE, {"called": escape(name), "base": base, "to": to, "writer": writer}
        )
        if session is None and base == 0:
            session = db.scalar(sql.BEGIN, {"called": escape(name), "to": to})
        return session

    def moved_by_turn(
        self, db: Connection, name: str, base: int, event: TurnEvent, *, commit: int, writer: int
    ) -> int | None:
        """Do the work of `moved` and `add_events` for a single turn in one statement."""
        row = row_of(event, lambda _: {})
        said = columns_of(row, base + 1, commit)
        where = {"called": escape(name), "base": base, "to": base + 1, "writer": writer}
        session: int | None = db.scalar(sql.ADD_TURN, {**where, **words_of(row), **said})
        return session

    def reserve(self, db: Connection, name: str, writer: int) -> None:
        """Reserve the next commit for a writer, unless it is reserved for another one."""
        db.execute(sql.IN_PASSING)
        reserved = {"called": escape(name), "writer": writer, "reserved": sql.RESERVED}
        db.execute(sql.RESERVE, reserved)

    def has(self, db: Connection, name: str, number: int, commit: int) -> bool:
        """Return whether the event with that number was stored by that commit."""
        return db.scalar(sql.COMMIT_AT, {"called": escape(name), "number": number}) == commit

    def add_events(
        self, db: Connection, session: int, base: int, events: Sequence[Event], commit: int
    ) -> None:
        """Store events after those up to `base`: all texts first, then the rows that use them."""
        self.add_rows(
            db, session, rows_of(events, base + 1, partial(self.numbers_of, db, session)), commit
        )

    def add_rows(
        self, db: Connection, session: int, rows: Sequence[tuple[int, Row]], commit: int
    ) -> None:
        """Store the rows of events, each after its number: all texts first."""
        words = [words_of(row) for _, row in rows if has_words(row)]
        ids = db.scalars(sql.TEXT_IDS, {"count": len(words)}).all() if words else []
        if words:
            added = zip(ids, words, strict=True)
            db.execute(sql.ADD_TEXT, [{"text": each, **said} for each, said in added])
        texts = iter(ids)
        said = [
            {
                **columns_of(row, number, commit),
                "session": session,
                "text": next(texts) if has_words(row) else None,
            }
            for number, row in rows
        ]
        if said:
            db.execute(sql.ADD_EVENT, said)

    def numbers_of(
        self, db: Connection, session: int, resource_ids: Sequence[str]
    ) -> dict[str, int]:
        """Return the numbers of the events that added turns, by the ids of the turns."""
        asked = {"session": session, "ids": [*map(escape, resource_ids)]}
        return {unescape(each): number for each, number in db.execute(sql.NUMBERS, asked)}

    def add_beside(
        self, db: Connection, session: int, to: int, companions: Mapping[str, str], key: str | None
    ) -> None:
        """Store the changed companions, and the key of the command that led to revision `to`."""
        if companions:
            rows = [
                {"session": session, "name": escape(name), "body": escape(body)}
                for name, body in companions.items()
            ]
            db.execute(sql.ADD_COMPANION, rows)
        if key is not None:
            db.execute(sql.ADD_COMMAND, {"session": session, "key": escape(key), "revision": to})

    def add_snapshot(self, db: Connection, session: int, revision: int, snapshot: Snapshot) -> None:
        """Store a snapshot if it continues the newest one, or replaces all (base 0)."""
        mine = {"session": session}
        if snapshot.base == 0:
            db.execute(sql.DROP_SNAPSHOTS, mine)
        elif snapshot.base != db.scalar(sql.NEWEST, mine):
            return
        db.execute(sql.DROP_HEAD, mine)
        row = {"revision": revision, "piece": snapshot.piece, "head": snapshot.head}
        db.execute(sql.ADD_SNAPSHOT, {**mine, **row})

    def deleted(self, db: Connection, name: str) -> bool:
        """Delete a session and the texts that only it uses; return whether there was one."""
        session = db.scalar(sql.LOCK, {"called": escape(name)})
        if session is None:
            return False
        own = db.scalars(sql.OWN_TEXTS, {"session": session}).all()
        db.execute(sql.DROP_SESSION, {"session": session})
        db.execute(sql.DROP_TEXTS, {"ids": own})
        return True


def _rows(rows: Iterable[Any]) -> Iterator[tuple[int, Row]]:
    for number, *columns in rows:
        row = Row._make(columns)
        content, resource_id = (
            None if text is None else unescape(text) for text in (row.content, row.resource_id)
        )
        yield number, row._replace(content=content, resource_id=resource_id)


def columns_of(row: Row, number: int, commit: int) -> dict[str, Any]:
    """Return the columns of an event's row, except the session and the text."""
    columns = dict(zip(EVENT_COLUMNS, row, strict=False))
    return {
        **columns,
        "resource_id": None if row.resource_id is None else escape(row.resource_id),
        "number": number,
        "commit": commit,
    }


def words_of(row: Row) -> dict[str, str | None]:
    """Return the columns of an event's text."""
    return {"content": None if row.content is None else escape(row.content), "more": row.more}


def has_words(row: Row) -> bool:
    """Return whether an event has a text."""
    return row.content is not None or row.more is not None
