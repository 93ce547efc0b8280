"""The index of a session's words in a SQLite file.

It is made at the first search of the session and updated at each later one, so that no append waits
for it. Deleting a session deletes its index.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from attrs import frozen

from .sqlite_journals import SQLiteJournals
from .word_index import Row, WordIndex

BATCH = 2_000
"""The number of events that are indexed in one transaction; others can write between two."""

_APPEND = """
INSERT INTO words VALUES (?, ?, ?, ?) ON CONFLICT (session, term, block)
DO UPDATE SET postings = CAST(postings || excluded.postings AS BLOB)
"""


@frozen
class SQLitePostings:
    """The postings of a session in a file."""

    db: sqlite3.Connection
    session: int

    def read(self, terms: Sequence[str]) -> Iterable[Row]:
        """Return all postings of some terms."""
        marks = ", ".join("?" * len(terms))
        select = f"SELECT term, block, postings FROM words WHERE session = ? AND term IN ({marks})"  # noqa: S608 - question marks alone
        return self.db.execute(select, (self.session, *terms)).fetchall()

    def append(self, rows: Sequence[Row]) -> None:
        """Add to the end of postings."""
        # In order, so that the pages of the table are written once.
        self.db.executemany(_APPEND, ((self.session, *row) for row in sorted(rows)))


def updated_index(
    journals: SQLiteJournals, session: int, revision: int, *, may_write: bool
) -> WordIndex | None:
    """Index the new turns of a session, up to `BATCH` events, or none if it may not write.

    Return its index if everything is indexed now, None if there is more to do.
    """
    index = WordIndex(SQLitePostings(journals.db, session))
    select = "SELECT indexed FROM sessions WHERE id = ?"
    (start,) = journals.db.execute(select, (session,)).fetchone()
    stop = min(revision, start + BATCH * may_write)
    if stop > start:
        index.add(journals.steps_between(session, start + 1, stop))
        _set_indexed(journals, session, stop)
    return index if stop == revision else None


def drop_index(journals: SQLiteJournals, session: int) -> None:
    """Drop the index of a session with all its words; the next search makes it again."""
    journals.delete_rows(session, "words")
    _set_indexed(journals, session, 0)


def _set_indexed(journals: SQLiteJournals, session: int, revision: int) -> None:
    journals.db.execute("UPDATE sessions SET indexed = ? WHERE id = ?", (revision, session))
