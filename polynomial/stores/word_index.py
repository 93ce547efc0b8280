"""The words of one session, indexed by SQLite's FTS5: a table that keeps no text, whose rows are numbers of turns.

Each session has a table of its own. So what a search takes grows with the session and not with the
file, what ranks are made of is said in the session alone, and dropping the table leaves no word
behind (docs/history.md, "Search").
"""

import sqlite3
from collections.abc import Callable, Iterable

from attrs import frozen

from polycontext.window import Turn

from ..errors import StoreError
from .search_query import AskedWords, said, spaced

_MAKE = "CREATE VIRTUAL TABLE {table} USING fts5(said, content = '', tokenize = \"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\")"
_ADD = "INSERT INTO {table} (rowid, said) VALUES (?, ?)"
_FIND = "SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid DESC LIMIT ?"


@frozen
class WordIndex:
    """Index the turns of one session in a database, and find them again.

    `table` is a name of our own.

    >>> index = WordIndex(sqlite3.connect(":memory:"), "words")
    >>> index.make()
    >>> index.add([(1, Turn("user", "Where is my parcel?")), (2, Turn("assistant", "On its way."))])
    >>> [number for number, score in index.find(AskedWords.of("parcel"), 10)]
    [1]
    """

    db: sqlite3.Connection
    table: str

    def make(self) -> None:
        """Make the table.

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
        """Drop the table if it is there, with all its words."""
        self.db.execute(f"DROP TABLE IF EXISTS {self.table}")

    def add(self, turns: Iterable[tuple[int, Turn]]) -> None:
        """Index turns, each with its number, which rise."""
        rows = ((number, spaced(said(turn))) for number, turn in turns)
        self.db.executemany(_ADD.format(table=self.table), rows)

    def find(self, asked: AskedWords, limit: int) -> list[tuple[int, float]]:
        """Return the numbers of the turns that say what is asked, with their scores: the highest first, of equals the newest."""
        return (
            self.db.execute(_FIND.format(table=self.table), (asked.match, limit)).fetchall()
            if asked
            else []
        )


# --- in a file -------------------------------------------------------------------------
# The index of a session is made at its first search and updated at each further one, so that no
# append waits for it. Deleting a session deletes its index.

BATCH = 2_000
"""Events that are indexed in one transaction: others may write behind each."""

MOST_INDEXES = 1_000
"""Sessions of a file that have an index; where there are more, the first one that was made goes,
until its session is searched again."""

Turns = Callable[[int, int], Iterable[tuple[int, Turn]]]
"""Reads the turns that came in with the events first..last, each with its number."""


def next_index(
    db: sqlite3.Connection, session: int, revision: int, turns: Turns
) -> WordIndex | None:
    """Index what is new of a session, up to `BATCH` events.

    Return its index where that was all, None where there is more to do.
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
    """Drop the index of a session if there is one, with all its words.

    The next search makes it anew.
    """
    WordIndex(db, _table(session)).drop()
    db.execute("DELETE FROM indexes WHERE session = ?", (session,))


def _make_room(db: sqlite3.Connection) -> None:
    oldest = "SELECT session FROM indexes ORDER BY made DESC LIMIT -1 OFFSET ?"
    for (session,) in db.execute(oldest, (MOST_INDEXES - 1,)).fetchall():
        drop_index(db, session)


def _table(session: int | None) -> str:
    return f"words_{session}"
