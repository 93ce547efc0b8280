"""Deletion in steps: the rows of deleted sessions and dropped indexes.

A transaction that deletes many rows takes long. So one transaction marks what is gone, and a step
deletes some rows of it; others can write between two steps.
"""

import sqlite3

import orjson

_MOST_ROWS, _MOST_BYTES = 2_000, 4_000_000
"""The limits of a step."""

_MARKED = "SELECT id, typeof(name) = 'blob' FROM sessions WHERE indexed < 0"
_EVENTS = """
SELECT number, text, length(content), length(more) FROM events LEFT JOIN texts ON texts.id = text
WHERE session = ? ORDER BY number
"""
_DELETE_WORDS = f"""
DELETE FROM words WHERE session = ?1 AND (term, block) IN
(SELECT term, block FROM words WHERE session = ?1 LIMIT {_MOST_ROWS})
"""  # noqa: S608 - a number alone
_DELETE_TEXTS = """
WITH asked AS (SELECT value FROM json_each(?1)) DELETE FROM texts WHERE id IN asked
AND id NOT IN (SELECT text FROM events WHERE text IN asked)
"""


def delete_some(db: sqlite3.Connection) -> bool:
    """Delete some rows of what is marked as gone, and return whether there may be more."""
    found = db.execute(_MARKED).fetchone()
    if found is None:
        return False
    session, is_gone = found
    if db.execute(_DELETE_WORDS, (session,)).rowcount:
        return True
    if is_gone and _delete_events(db, session):
        return True
    for table in ("snapshots", "commands", "companions") if is_gone else ():
        delete_rows(db, session, table)
    last = "DELETE FROM sessions" if is_gone else "UPDATE sessions SET indexed = 0"
    # In a damaged file, a row that is found cannot always be changed.
    return db.execute(f"{last} WHERE id = ?", (session,)).rowcount > 0


def _delete_events(db: sqlite3.Connection, session: int) -> bool:
    """Delete some events of a session, and return whether there were any."""
    texts, last, size = list[int](), 0, 0
    for number, text, *lengths in db.execute(_EVENTS, (session,)):
        last = number
        texts += [] if text is None else [text]
        size += _MOST_BYTES // _MOST_ROWS + sum(length or 0 for length in lengths)
        if size > _MOST_BYTES:
            break
    deleted = db.execute("DELETE FROM events WHERE session = ? AND number <= ?", (session, last))
    delete_unused(db, texts)
    return deleted.rowcount > 0


def delete_unused(db: sqlite3.Connection, texts: list[int]) -> None:
    """Delete those of some texts that no event uses any more."""
    db.execute(_DELETE_TEXTS, (orjson.dumps(texts).decode(),))


def delete_rows(db: sqlite3.Connection, session: int | None, table: str) -> None:
    """Delete all rows of a session from a table."""
    db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))  # noqa: S608 - our own tables
