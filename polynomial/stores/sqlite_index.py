"""The index of a session's words in a SQLite file.

It is made at the first search of the session and updated at each later one, so that no append waits
for it. A search that cannot write, or not at once, indexes new turns in memory. Deleting a session
deletes its index.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence

from attrs import field, frozen

from .sqlite_journals import SQLiteJournals
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


@frozen
class _Extended:
    """Stored postings, and those of newer events in memory."""

    stored: SQLitePostings
    new: MemoryPostings = field(factory=MemoryPostings)

    def read(self, terms: Sequence[str]) -> Iterable[Row]:
        """Return all postings of some terms."""
        postings = defaultdict[tuple[str, int], bytes](bytes)
        for source in (self.stored, self.new):
            for term, block, more in source.read(terms):
                postings[term, block] += more
        return [(*key, value) for key, value in postings.items()]

    def append(self, rows: Sequence[Row]) -> None:
        """Add to the end of postings, in memory."""
        self.new.append(rows)


def update_index(journals: SQLiteJournals, session: int, revision: int) -> bool:
    """Index the next `BATCH` events of a session, and return whether there are more."""
    start = _indexed(journals, session)
    stop = min(revision, start + BATCH)
    if not is_indexed(journals, session, revision):
        index = WordIndex(SQLitePostings(journals.db, session))
        index.add(journals.steps_between(session, start + 1, stop))
        journals.db.execute("UPDATE sessions SET indexed = ? WHERE id = ?", (stop, session))
    return stop < revision


def is_indexed(journals: SQLiteJournals, session: int, revision: int) -> bool:
    """Return whether there is nothing to index, or an old index has to be deleted first."""
    return _indexed(journals, session) not in range(revision)


def read_index(
    journals: SQLiteJournals, session: int, revision: int, *, is_sound: bool
) -> WordIndex:
    """Return the index of all events of a session; what is not stored is indexed in memory.

    What is stored is left out if it is not sound.
    """
    start = _indexed(journals, session) if is_sound else -1
    if start == revision:
        return WordIndex(SQLitePostings(journals.db, session))
    index = WordIndex(
        MemoryPostings() if start < 0 else _Extended(SQLitePostings(journals.db, session))
    )
    index.add(journals.steps_between(session, max(0, start) + 1, revision))
    return index


def _indexed(journals: SQLiteJournals, session: int) -> int:
    """Return the number of indexed events; -1 while the index is deleted."""
    indexed: int
    (indexed,) = journals.db.execute(
        "SELECT indexed FROM sessions WHERE id = ?", (session,)
    ).fetchone()
    return indexed
