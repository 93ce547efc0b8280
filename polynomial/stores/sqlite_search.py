"""The indexes of a SQLite store: made at the first search of a session, and brought up to date at each further one.

An append does not wait for words to be indexed that nobody may ever look for. What is deleted takes its index along.
"""

import sqlite3
from collections.abc import Callable, Iterable

from polycontext.window import Turn

from .word_index import WordIndex

BATCH = 2_000
"""Events that are indexed in one transaction: others may write behind each."""

MOST_INDEXES = 1_000
"""Sessions of a file that have an index; where there are more, the first one that was made goes, until its session is searched again."""

Turns = Callable[[int, int], Iterable[tuple[int, Turn]]]
"""Reads the turns that came in with the events first..last, each with its number."""


def next_index(db: sqlite3.Connection, session: int, revision: int, turns: Turns) -> WordIndex | None:
    """Index what is new of a session, up to `BATCH` events; return its index where that was all, None where there is more to do."""
    index = WordIndex(db, _table(session))
    (upto,) = db.execute("SELECT upto FROM indexes WHERE session = ?", (session,)).fetchone() or (None,)
    if upto is None:
        _make_room(db)
        index.make()
        db.execute("INSERT INTO indexes SELECT ?, coalesce(max(made), 0) + 1, 0 FROM indexes", (session,))
    start = upto or 0
    stop = min(revision, start + BATCH)
    if stop > start:
        index.add(turns(start + 1, stop))
        db.execute("UPDATE indexes SET upto = ? WHERE session = ?", (stop, session))
    return index if stop == revision else None


def drop_index(db: sqlite3.Connection, session: int | None) -> None:
    """Drop the index of a session if there is one, with all its words; the next search makes it anew."""
    WordIndex(db, _table(session)).drop()
    db.execute("DELETE FROM indexes WHERE session = ?", (session,))


def _make_room(db: sqlite3.Connection) -> None:
    oldest = "SELECT session FROM indexes ORDER BY made DESC LIMIT -1 OFFSET ?"
    for (session,) in db.execute(oldest, (MOST_INDEXES - 1,)).fetchall():
        drop_index(db, session)


def _table(session: int | None) -> str:
    return f"words_{session}"
