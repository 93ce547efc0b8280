"""Rare operations on a PostgreSQL store: forking, erasing and searching sessions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from secrets import randbits

from attrs import frozen
from sqlalchemy import Connection

from polycontext.polynomial.journal import Event
from polycontext.polynomial.journal.rows import row_of
from polycontext.polynomial.stores import AskedWords, Found, Rewritten, WordIndex, check_fork
from polycontext.pressure import ConflictError

from . import schema as sql
from .journals import Journals
from .schema import escape, unescape

_BATCH = 1_000
"""The number of events that one statement indexes."""


class Altering:
    """Forks, erases and searches within one transaction."""

    def __init__(self, journals: Journals) -> None:
        self._journals = journals

    # --- forks -----------------------------------------------------------------------

    def fork(
        self, db: Connection, name: str, new_name: str, revision: int, companions: Mapping[str, str]
    ) -> None:
        """Create a session with the first events of another one; both refer to the same texts."""
        there, found_there = self._journals.found(db, new_name)
        session, found = self._journals.found(db, name)
        check_fork(new_name, None if there is None else found_there, revision, found)
        fork: int | None = db.scalar(sql.BEGIN, {"called": escape(new_name), "to": revision})
        if fork is None:
            check_fork(new_name, 0, revision, found)
        copied = {"fork": fork, "session": session, "revision": revision}
        db.execute(sql.FORK_EVENTS, copied)
        # If `fork` were None, `check_fork` would have raised.
        self._journals.add_beside(db, fork, revision, companions, None)  # type: ignore[arg-type]
        # A snapshot later than the fork is not copied.
        if (db.scalar(sql.NEWEST, copied) or 0) <= revision:
            db.execute(sql.FORK_SNAPSHOTS, copied)

    # --- erasing ---------------------------------------------------------------------

    def holders(
        self, db: Connection, name: str, resource_ids: Collection[str]
    ) -> dict[str, set[str]]:
        """Return, by session, the ids of all copies of these turns.

        A copy has the same time and role, and the same content or the same id.
        """
        session, _ = self._journals.found(db, name)
        asked = {"session": session, "ids": [*map(escape, resource_ids)]}
        holders: dict[str, set[str]] = {}
        for called, resource_id in db.execute(sql.HOLDERS, asked):
            holders.setdefault(unescape(called), set()).add(unescape(resource_id))
        return holders

    def rewrite(self, db: Connection, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of several sessions.

        Sessions are locked in alphabetical order, so concurrent calls wait for one another.
        """
        for name in sorted(journals):
            journal = journals[name]
            locked = db.execute(sql.LOCK, {"called": escape(name)}).first()
            if locked is None or locked.revision != journal.base:
                raise ConflictError(
                    "session revision", journal.base, 0 if locked is None else locked.revision
                )
            commit, mine = randbits(63), {"session": locked.id}
            self._replace(db, locked.id, journal.events, commit)
            self._journals.add_events(db, locked.id, journal.base, journal.added, commit)
            for statement in (sql.DROP_SNAPSHOTS, sql.DROP_WORDS):
                db.execute(statement, mine)
            db.execute(sql.SET_REVISION, {**mine, "revision": journal.base + len(journal.added)})

    def _replace(
        self, db: Connection, session: int, replaced: Mapping[int, Event], commit: int
    ) -> None:
        which = {"session": session, "numbers": [*replaced]}
        before = db.scalars(sql.TEXTS_OF, which).all()
        numbers = partial(self._journals.numbers_of, db, session)
        rows = [(number, row_of(event, numbers)) for number, event in replaced.items()]
        db.execute(sql.DROP_EVENTS, which)
        self._journals.add_rows(db, session, rows, commit)
        db.execute(sql.DROP_UNUSED, {"ids": [*before]})

    # --- searching -------------------------------------------------------------------

    def index(self, db: Connection, name: str) -> bool:
        """Index the new turns of a session, up to a batch; return whether everything is indexed."""
        session, revision = self._journals.found(db, name)
        if session is None:
            return True
        mine = {"session": session}
        # A concurrent search would index the same turns, so only one of them does it at a time.
        db.execute(sql.INDEXING, mine)
        start: int = db.scalar(sql.INDEXED, mine) or 0
        stop = min(revision, start + _BATCH)
        if stop > start:
            steps = self._journals.steps(db, session, start + 1, stop)
            WordIndex(_Postings(db, session)).add(steps)
            db.execute(sql.SET_INDEXED, {**mine, "indexed": stop})
        return stop >= revision

    def search(self, db: Connection, name: str, asked: AskedWords, limit: int) -> tuple[Found, ...]:
        """Return the turns of a session that match the query, best first."""
        session, _ = self._journals.found(db, name)
        if session is None:
            return ()
        turns_at = partial(self._journals.turns_at, db, session)
        return WordIndex(_Postings(db, session)).search(asked, limit, turns_at)


@frozen
class _Postings:
    """The postings of a session in the table `words`."""

    _db: Connection
    _session: int

    def read(self, terms: Sequence[str]) -> Iterable[tuple[str, int, bytes]]:
        """Return all postings of some terms."""
        found = self._db.execute(sql.WORDS, {"session": self._session, "terms": [*terms]})
        return [(term, block, bytes(postings)) for term, block, postings in found]

    def append(self, rows: Sequence[tuple[str, int, bytes]]) -> None:
        """Add to the end of postings, in one statement however many there are."""
        terms, blocks, postings = zip(*rows, strict=True) if rows else ((), (), ())
        added = {"terms": [*terms], "blocks": [*blocks], "postings": [*postings]}
        self._db.execute(sql.ADD_WORDS, {"session": self._session, **added})
