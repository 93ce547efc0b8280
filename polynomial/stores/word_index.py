"""A full-text index of one session, made by SQLite's FTS5.

Each session has a table of its own, which stores no text; its row numbers are those of the turns'
events. The time of a search therefore depends on the session and not on the file, ranks depend only
on words of the session, and dropping the table leaves no word behind (docs/history.md, "Search").
"""

import sqlite3
from collections.abc import Callable, Iterable

from attrs import frozen

from polycontext.window import Turn

from ..errors import StoreError
from .search_query import AskedWords, said, spaced

_MAKE = (
    "CREATE VIRTUAL TABLE {table} USING fts5(said, content = '', "
    "tokenize = \"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\")"
)
_ADD = "INSERT INTO {table} (rowid, said) VALUES (?, ?)"
_FIND = (
    "SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ? "
    "ORDER BY rank, rowid DESC LIMIT ?"
)


@frozen
class WordIndex:
    """The full-text index of one session in a database.

    `table` must be a trusted name, since it becomes part of the SQL.

    >>> index = WordIndex(sqlite3.connect(":memory:"), "words")
    >>> index.make()
    >>> index.add([(1, Turn("user", "Where is my parcel?")), (2, Turn("assistant", "On its way."))])
    >>> [number for number, score in index.find(AskedWords.of("parcel"), 10)]
    [1]
    """

    db: sqlite3.Connection
    table: str

    def make(self) -> None:
        """Create the table.

        Raises:
            StoreError: SQLite was built without FTS5.
        """
        try:
            self.db.execute(_MAKE.format(table=self.table))
        except sqlite3.OperationalError as error:
            if "fts5" not in str(error):
                raise
            raise StoreError(
                "the search index",
                f"the SQLite of this Python has no FTS5 ({error})",
                "Use a Python whose SQLite has it",
            ) from None

    def drop(self) -> None:
        """Drop the table with all its words, if it exists."""
        self.db.execute(f"DROP TABLE IF EXISTS {self.table}")

    def add(self, turns: Iterable[tuple[int, Turn]]) -> None:
        """Index turns, each with its number; the numbers must rise."""
        rows = ((number, spaced(said(turn))) for number, turn in turns)
        self.db.executemany(_ADD.format(table=self.table), rows)

    def find(self, asked: AskedWords, limit: int) -> list[tuple[int, float]]:
        """Return the numbers and scores of the turns that match: best first, then newest."""
        return (
            self.db.execute(_FIND.format(table=self.table), (asked.match, limit)).fetchall()
            if asked
            else []
        )


# --- in a file -------------------------------------------------------------------------
# The index of a session is made at its first search and updated at each later one, so that no
# append waits for it. Deleting a session deletes its index.

BATCH = 2_000
"""The number of events that are indexed in one transaction; others can write between two."""

MOST_INDEXES = 1_000
"""The number of sessions in a file that can have an index.

If there are more, the oldest index is dropped until its session is searched again.
"""

Turns = Callable[[int, int], Iterable[tuple[int, Turn]]]
"""Read the turns that the events first..last added, each with its number."""


def next_index(
    db: sqlite3.Connection, session: int, revision: int, turns: Turns
) -> WordIndex | None:
    """Index the new turns of a session, up to `BATCH` events.

    Return its index if everything is indexed now, None if there is more to do.
    """
    index = WordIndex(db, _table(session))
    (upto,) = db.execute("SELECT upto FROM indexes WHERE session = ?", (session,)).fetchone() or (
        None,
    )
    if upto is None:
        _make_room(db)
        index.make()
        db.execute(
            "INSERT INTO indexes SELECT ?, coalesce(max(made), 0) + 1, 0 FROM indexes", (session,)
        )
    start = upto or 0
    stop = min(revision, start + BATCH)
    if stop > start:
        index.add(turns(start + 1, stop))
        db.execute("UPDATE indexes SET upto = ? WHERE session = ?", (stop, session))
    return index if stop == revision else None


def drop_index(db: sqlite3.Connection, session: int | None) -> None:
    """Drop the index of a session with all its words, if there is one.

    The next search makes it again.
    """
    WordIndex(db, _table(session)).drop()
    db.execute("DELETE FROM indexes WHERE session = ?", (session,))


def _make_room(db: sqlite3.Connection) -> None:
    oldest = "SELECT session FROM indexes ORDER BY made DESC LIMIT -1 OFFSET ?"
    for (session,) in db.execute(oldest, (MOST_INDEXES - 1,)).fetchall():
        drop_index(db, session)


def _table(session: int | None) -> str:
    return f"words_{session}"
