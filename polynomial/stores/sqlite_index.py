"""The index of a session's words in a SQLite file.

It is made at the first search of the session and updated at each later one, so that no append waits
for it. A search that cannot write, or not at once, indexes new turns in memory. Deleting a session
deletes its index.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from attrs import frozen

from .sqlite_journals import SQLiteJournal
from .word_index import MemoryPostings, Row, WordIndex

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
    session: int | None

    def read(self, terms: Sequence[str]) -> Iterable[Row]:
        """Return all postings of some terms."""
        marks = ", ".join("?" * len(terms))
        select = f"SELECT term, block, postings FROM words WHERE session = ? AND term IN ({marks})"  # noqa: S608 - question marks alone
        return self.db.execute(select, (self.session, *terms)).fetchall()

    def append(self, rows: Sequence[Row]) -> None:
        """Add to the end of postings."""
        # In order, so that the pages of the table are written once.
        self.db.executemany(_APPEND, ((self.session, *row) for row in sorted(rows)))


def update_index(journal: SQLiteJournal) -> bool:
    """Index the next `BATCH` events of a session, and return whether there are more."""
    start, session = indexed(journal), journal.session
    stop = min(journal.revision, start + BATCH)
    if 0 <= start < stop:
        index = WordIndex(SQLitePostings(journal.db, session))
        index.add(journal.steps_between(start + 1, stop))
        journal.db.execute("UPDATE sessions SET indexed = ? WHERE id = ?", (stop, session))
    return 0 <= start < journal.revision > stop


def read_index(journal: SQLiteJournal, start: int) -> WordIndex:
    """Return the index of all events of a session; those after `start` are indexed in memory.

    Nothing that is stored is used if `start` is -1.
    """
    stored = None if start < 0 else SQLitePostings(journal.db, journal.session)
    index = WordIndex(MemoryPostings(stored))
    index.add(journal.steps_between(max(0, start) + 1, journal.revision))
    return index


def indexed(journal: SQLiteJournal) -> int:
    """Return the number of indexed events; -1 while an old index is deleted, or without session."""
    select = "SELECT indexed FROM sessions WHERE id = ?"
    found: tuple[int] = journal.db.execute(select, (journal.session,)).fetchone() or (-1,)
    return found[0]
