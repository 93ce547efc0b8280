"""Rare operations on a PostgreSQL store: forking, erasing and searching sessions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from secrets import randbits

from attrs import frozen
from sqlalchemy import (
    ARRAY,
    Connection,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from polycontext.polynomial.journal import Event
from polycontext.polynomial.journal.rows import row_of
from polycontext.polynomial.stores import AskedWords, Found, Rewritten, WordIndex, check_fork
from polycontext.pressure import ConflictError

from .journals import Journals, columns_of, has_words, words_of
from .schema import Tables, escape, unescape

_BATCH = 1_000
"""The number of events that one statement indexes."""


class Altering:
    """Forks, erases and searches within one transaction."""

    def __init__(self, tables: Tables, journals: Journals) -> None:
        self._tables, self._journals = tables, journals

    # --- forks -----------------------------------------------------------------------

    def fork(
        self, db: Connection, name: str, new_name: str, revision: int, companions: Mapping[str, str]
    ) -> None:
        """Create a session with the first events of another one; both refer to the same texts."""
        sessions, events = self._tables.sessions, self._tables.events
        there, found_there = self._journals.found(db, new_name)
        session, found = self._journals.found(db, name)
        check_fork(new_name, None if there is None else found_there, revision, found)
        made = (
            upsert(sessions)
            .values(name=escape(new_name), revision=revision)
            .on_conflict_do_nothing()
            .returning(sessions.c.id)
        )
        fork: int | None = db.scalar(made)
        if fork is None:
            check_fork(new_name, 0, revision, found)
        shared = [each.name for each in events.c if each.name != "session"]
        rows = select(literal(fork), *(events.c[each] for each in shared))
        db.execute(
            insert(events).from_select(
                ["session", *shared],
                rows.where(events.c.session == session, events.c.number <= revision),
            )
        )
        # If `fork` were None, `check_fork` would have raised.
        self._journals.add_beside(db, fork, revision, companions, None)  # type: ignore[arg-type]
        # A snapshot later than the fork is not copied.
        if (db.scalar(self._journals.sql.newest, {"session": session}) or 0) <= revision:
            snapshots = self._tables.snapshots
            kept = [each.name for each in snapshots.c if each.name != "session"]
            copied = select(literal(fork), *(snapshots.c[each] for each in kept))
            rows = copied.where(snapshots.c.session == session)
            db.execute(insert(snapshots).from_select(["session", *kept], rows))

    # --- erasing ---------------------------------------------------------------------

    def holders(
        self, db: Connection, name: str, resource_ids: Collection[str]
    ) -> dict[str, set[str]]:
        """Return, by session, the ids of all copies of these turns.

        A copy has the same time and role, and the same content or the same id.
        """
        sessions, own = self._tables.sessions, self._tables.events
        other = own.alias()
        session, _ = self._journals.found(db, name)
        found = (
            select(sessions.c.name, other.c.resource_id)
            .select_from(own)
            .join(other, (other.c.at == own.c.at) & (other.c.kind == own.c.kind))
            .join(sessions, sessions.c.id == other.c.session)
            .where(
                own.c.session == session,
                own.c.resource_id.in_([escape(each) for each in resource_ids]),
                own.c.kind != "promote",
            )
        )
        holders: dict[str, set[str]] = {}
        for called, resource_id in db.execute(found):
            holders.setdefault(unescape(called), set()).add(unescape(resource_id))
        return holders

    def rewrite(self, db: Connection, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of several sessions.

        Sessions are locked in alphabetical order, so concurrent calls wait for one another.
        """
        sessions = self._tables.sessions
        for name in sorted(journals):
            journal = journals[name]
            locked = db.execute(self._journals.sql.lock, {"called": escape(name)}).first()
            if locked is None or locked.revision != journal.base:
                raise ConflictError(
                    "session revision", journal.base, 0 if locked is None else locked.revision
                )
            commit = randbits(63)
            self._replace(db, locked.id, journal.events, commit)
            self._journals.add_events(db, locked.id, journal.base, journal.added, commit)
            for table in (self._tables.snapshots, self._tables.words):
                db.execute(delete(table).where(table.c.session == locked.id))
            to = journal.base + len(journal.added)
            db.execute(
                update(sessions).where(sessions.c.id == locked.id).values(revision=to, indexed=0)
            )

    def _replace(
        self, db: Connection, session: int, replaced: Mapping[int, Event], commit: int
    ) -> None:
        events, texts = self._tables.events, self._tables.texts
        mine = events.c.session == session
        before = db.scalars(
            select(events.c.text).where(
                mine, events.c.number.in_([*replaced]), events.c.text.is_not(None)
            )
        ).all()
        numbers = partial(self._journals.numbers_of, db, session)
        for number, event in replaced.items():
            row = row_of(event, numbers)
            text = (
                db.scalar(insert(texts).values(**words_of(row)).returning(texts.c.id))
                if has_words(row)
                else None
            )
            db.execute(
                update(events)
                .where(mine, events.c.number == number)
                .values(**columns_of(row, number, commit), text=text)
            )
        used = select(events.c.text).where(events.c.text == texts.c.id).exists()
        db.execute(delete(texts).where(texts.c.id.in_(before), ~used))

    # --- searching -------------------------------------------------------------------

    def index(self, db: Connection, name: str) -> bool:
        """Index the new turns of a session, up to a batch; return whether everything is indexed."""
        sessions = self._tables.sessions
        session, revision = self._journals.found(db, name)
        if session is None:
            return True
        # A concurrent search would index the same turns, so only one of them does it at a time.
        db.execute(select(func.pg_advisory_xact_lock(session)))
        mine = sessions.c.id == session
        start: int = db.scalar(select(sessions.c.indexed).where(mine)) or 0
        stop = min(revision, start + _BATCH)
        if stop > start:
            steps = self._journals.steps(db, session, start + 1, stop)
            WordIndex(_Postings(db, self._tables.words, session)).add(steps)
            db.execute(update(sessions).where(mine).values(indexed=stop))
        return stop >= revision

    def search(self, db: Connection, name: str, asked: AskedWords, limit: int) -> tuple[Found, ...]:
        """Return the turns of a session that match the query, best first."""
        session, _ = self._journals.found(db, name)
        if session is None:
            return ()
        turns_at = partial(self._journals.turns_at, db, session)
        index = WordIndex(_Postings(db, self._tables.words, session))
        return index.search(asked, limit, turns_at)


@frozen
class _Postings:
    """The postings of a session in the table `words`."""

    _db: Connection
    _words: Table
    _session: int

    def read(self, terms: Sequence[str]) -> Iterable[tuple[str, int, bytes]]:
        """Return all postings of some terms."""
        words = self._words.c
        wanted = select(words.term, words.block, words.postings).where(
            words.session == self._session, words.term.in_(terms)
        )
        return [
            (term, block, bytes(postings)) for term, block, postings in self._db.execute(wanted)
        ]

    def append(self, rows: Sequence[tuple[str, int, bytes]]) -> None:
        """Add to the end of postings, in one statement however many there are."""
        words = self._words.c
        added = [words.term, words.block, words.postings]
        columns = {each.name: [row[at] for row in rows] for at, each in enumerate(added)}
        arrays = (func.unnest(bindparam(each.name, type_=ARRAY(each.type))) for each in added)
        statement = upsert(self._words).from_select(
            ["session", *columns], select(literal(self._session), *arrays)
        )
        self._db.execute(
            statement.on_conflict_do_update(
                index_elements=["session", "term", "block"],
                set_={"postings": words.postings.op("||")(statement.excluded.postings)},
            ),
            columns,
        )
