"""The journal of a session in the tables of a PostgreSQL store, within one transaction."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from attrs import frozen
from sqlalchemy import Connection, TextClause

from polycontext.base import InvalidDataError
from polycontext.polynomial import StoreError
from polycontext.polynomial.journal import Event, TurnEvent
from polycontext.polynomial.journal.rows import Row, event_of_row, row_of, rows_of, turn_of_row
from polycontext.polynomial.stores import AskedWords, Found, Snapshot, Stored, WordIndex
from polycontext.window import Turn

from . import schema as sql
from .schema import EVENT_COLUMNS, escape, unescape

T = TypeVar("T")

_BATCH = 1_000
"""The number of events that one statement indexes."""


@frozen
class PostgreSQLJournal:
    """Reads and writes the rows of one session through the connection `db`.

    `session` is its number, None if there is no such session, and `revision` how many events it
    has. `damaged` makes the error for rows that cannot be read.
    """

    db: Connection
    damaged: Callable[[str], StoreError]
    session: int | None
    revision: int

    @classmethod
    def find(
        cls, db: Connection, damaged: Callable[[str], StoreError], name: str, *, locks: bool = False
    ) -> Self:
        """Return the journal of a session; with `locks`, other writers wait meanwhile."""
        found = db.execute(sql.LOCK if locks else sql.SESSION, {"called": escape(name)}).first()
        session, revision = found or (None, 0)
        return cls(db, damaged, session, revision)

    def run(self, statement: TextClause, **given: Any) -> Any:
        """Return the result of a statement on the session, whose number is its `session`."""
        escaped = {name: _escaped(value) for name, value in given.items()}
        return self.db.execute(statement, {"session": self.session, **escaped})

    # --- reading ---------------------------------------------------------------------

    def load(self, after: int) -> Stored:
        """Return the events after revision `after`, and the companions."""
        if self.session is None:
            return Stored()
        rows = self.run(sql.EVENTS, after=after) if after < self.revision else ()
        events = [event for _, event in self._events(rows)]
        if len(events) != max(0, self.revision - after):
            raise self.damaged(f"{len(events)} events are there of {self.revision - after}")
        companions = {unescape(name): unescape(body) for name, body in self.run(sql.COMPANIONS)}
        return Stored(events, companions, self._newest())

    def opened(self) -> tuple[list[tuple[int, bytes]], bytes, Stored] | None:
        """Return the pieces and head of the newest snapshot, and the events since.

        Return None if there is no snapshot.
        """
        rows = self.run(sql.SNAPSHOTS).all()
        if not rows:
            return None
        pieces = [(row.revision, bytes(row.piece)) for row in rows]
        return pieces, bytes(rows[-1].head or b""), self.load(rows[-1].revision)

    def turns_between(self, first: int, last: int) -> tuple[Turn, ...]:
        """Return the turns that the events ``first..last`` added."""
        return tuple(self._turns(self.run(sql.TURNS, first=first, last=last)).values())

    def turns_at(self, numbers: Sequence[int]) -> dict[int, Turn]:
        """Return the turns that some events added, by the events' numbers."""
        return self._turns(self.run(sql.TURNS_AT, numbers=[*numbers])) if numbers else {}

    def holders(self, resource_ids: Collection[str]) -> dict[str, set[str]]:
        """Return, by session, the ids of the turns that may be copies of these."""
        holders: dict[str, set[str]] = {}
        for name, resource_id in self.run(sql.HOLDERS, ids=[*resource_ids]):
            holders.setdefault(unescape(name), set()).add(unescape(resource_id))
        return holders

    def _newest(self) -> int:
        newest: int = self.run(sql.NEWEST).scalar() or 0
        return newest

    def _events(self, rows: Iterable[Any]) -> Iterator[tuple[int, Event]]:
        """Yield events, each after its number."""
        for number, row in _rows(rows):
            yield number, self._read(number, lambda row: event_of_row(row, self.turns_at), row)

    def _turns(self, rows: Iterable[Any]) -> dict[int, Turn]:
        return {number: self._read(number, turn_of_row, row) for number, row in _rows(rows)}

    def _read(self, number: int, reader: Callable[[Row], T], row: Row) -> T:
        try:
            return reader(row)
        except InvalidDataError as error:
            raise self.damaged(f"event {number}: {error}") from error

    # --- searching -------------------------------------------------------------------

    def index_some(self) -> bool:
        """Index new turns, up to a batch; return whether everything is indexed."""
        if self.session is None:
            return True
        # A concurrent search would index the same turns, so only one of them does it at a time.
        self.run(sql.INDEXING)
        start: int = self.run(sql.INDEXED).scalar() or 0
        stop = min(self.revision, start + _BATCH)
        if stop > start:
            steps = self.run(sql.STEPS, first=start + 1, last=stop)
            WordIndex(_Postings(self)).add(self._events(steps))
            self.run(sql.SET_INDEXED, indexed=stop)
        return stop >= self.revision

    def search(self, asked: AskedWords, limit: int) -> tuple[Found, ...]:
        """Return the turns that match the query, best first."""
        return WordIndex(_Postings(self)).search(asked, limit, self.turns_at)

    # --- writing ---------------------------------------------------------------------

    def add_events(self, events: Sequence[Event], commit: int) -> None:
        """Store events after those that are there."""
        self._add_rows(rows_of(events, self.revision + 1, self._numbers_of), commit)

    def replace_events(self, events: Mapping[int, Event], commit: int) -> None:
        """Replace events by their numbers, and delete texts that no event uses any more."""
        numbers = [*events]
        before = self.run(sql.TEXTS_OF, numbers=numbers).scalars().all()
        rows = [(number, row_of(event, self._numbers_of)) for number, event in events.items()]
        self.run(sql.DROP_EVENTS, numbers=numbers)
        self._add_rows(rows, commit)
        self.run(sql.DROP_UNUSED, ids=[*before])

    def _add_rows(self, rows: Sequence[tuple[int, Row]], commit: int) -> None:
        """Store the rows of events, each after its number: all texts first."""
        words = [words_of(row) for _, row in rows if _has_words(row)]
        ids = self.run(sql.TEXT_IDS, count=len(words)).scalars().all() if words else []
        if words:
            added = zip(ids, words, strict=True)
            self.db.execute(sql.ADD_TEXT, [{"text": each, **said} for each, said in added])
        texts = iter(ids)
        if rows:
            said = [
                {
                    **columns_of(row, number, commit),
                    "session": self.session,
                    "text": next(texts) if _has_words(row) else None,
                }
                for number, row in rows
            ]
            self.db.execute(sql.ADD_EVENT, said)

    def _numbers_of(self, resource_ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the events that added turns, by the ids of the turns."""
        found = self.run(sql.NUMBERS, ids=[*resource_ids])
        return {unescape(each): number for each, number in found}

    def add_beside(
        self, companions: Mapping[str, str], key: str | None, snapshot: Snapshot | None
    ) -> None:
        """Store what comes with the newest events: changed companions, key and snapshot."""
        for name, body in companions.items():
            self.run(sql.ADD_COMPANION, name=name, body=body)
        if key is not None:
            self.run(sql.ADD_COMMAND, key=key, revision=self.revision)
        if snapshot is not None:
            self._add_snapshot(snapshot)

    def _add_snapshot(self, snapshot: Snapshot) -> None:
        """Store a snapshot if it continues the newest one, or replaces all (base 0)."""
        if snapshot.base == 0:
            self.run(sql.DROP_SNAPSHOTS)
        elif snapshot.base != self._newest():
            return
        self.run(sql.DROP_HEAD)
        row = {"revision": self.revision, "piece": snapshot.piece, "head": snapshot.head}
        self.run(sql.ADD_SNAPSHOT, **row)

    def copy_to(self, fork: Self) -> None:
        """Copy the events that a fork has, and the snapshot unless it is later."""
        self.run(sql.FORK_EVENTS, fork=fork.session, revision=fork.revision)
        if self._newest() <= fork.revision:
            self.run(sql.FORK_SNAPSHOTS, fork=fork.session)

    def delete(self) -> bool:
        """Delete the session and the texts that only it uses; return whether there was one."""
        if self.session is None:
            return False
        own = self.run(sql.OWN_TEXTS).scalars().all()
        self.run(sql.DROP_SESSION)
        self.run(sql.DROP_TEXTS, ids=[*own])
        return True


@frozen
class _Postings:
    """The postings of a session in the table `words`."""

    _journal: PostgreSQLJournal

    def read(self, terms: Sequence[str]) -> Iterable[tuple[str, int, bytes]]:
        """Return all postings of some terms."""
        found = self._journal.run(sql.WORDS, terms=[*terms])
        return [(term, block, bytes(postings)) for term, block, postings in found]

    def append(self, rows: Sequence[tuple[str, int, bytes]]) -> None:
        """Add to the end of postings, in one statement however many there are."""
        terms, blocks, postings = zip(*rows, strict=True) if rows else ((), (), ())
        self._journal.run(sql.ADD_WORDS, terms=[*terms], blocks=[*blocks], postings=[*postings])


def turn_row(event: TurnEvent, number: int, commit: int) -> dict[str, Any]:
    """Return the parameters of `ADD_TURN` for the event of a turn."""
    row = row_of(event, lambda _: {})
    return {**words_of(row), **columns_of(row, number, commit)}


def _escaped(value: Any) -> Any:
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    return escape(value) if isinstance(value, str) else value


def _rows(rows: Iterable[Any]) -> Iterator[tuple[int, Row]]:
    for number, *columns in rows:
        row = Row._make(columns)
        content, resource_id = (
            None if text is None else unescape(text) for text in (row.content, row.resource_id)
        )
        yield number, row._replace(content=content, resource_id=resource_id)


def columns_of(row: Row, number: int, commit: int) -> dict[str, Any]:
    """Return the columns of an event's row, except the session and the text."""
    columns = dict(zip(EVENT_COLUMNS, map(_escaped, row), strict=False))
    return {**columns, "number": number, "commit": commit}


def words_of(row: Row) -> dict[str, str | None]:
    """Return the columns of an event's text."""
    return {"content": _escaped(row.content), "more": row.more}


def _has_words(row: Row) -> bool:
    return row.content is not None or row.more is not None
