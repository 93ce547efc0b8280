"""The tables of a SQLite store.

`texts` stores each text once, however many events and sessions refer to it; `events` stores
everything else. `snapshots` is derived; the newest row alone has a head. `words` is derived too:
the postings of the events that a session has `indexed` (`word_index`). Losing snapshots costs time
and nothing else. If rows of `words` are lost, a search finds less: delete the rest, and set
`indexed` to 0. Each other row that is read back has a checksum (a snapshot is compressed, which
includes one), and each session records how many events it has, since SQLite does not detect missing
or changed rows.
"""

import sqlite3

APPLICATION_ID = 0x504C5943
"""The application id ("PLYC") that distinguishes these files from other databases."""

SCHEMA = 3
"""The version of the tables; files of another one are refused."""

TABLES = """
CREATE TABLE sessions (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, revision INTEGER NOT
    NULL, indexed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE texts (id INTEGER PRIMARY KEY, content TEXT, more TEXT, checksum INTEGER NOT NULL);
CREATE TABLE events (
    session INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
    at INTEGER NOT NULL, resource_id TEXT, class INTEGER, pinned INTEGER, tokens INTEGER,
    text INTEGER, checksum INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE TABLE companions (
    session INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (session, name)
) WITHOUT ROWID;
CREATE TABLE commands (session INTEGER NOT NULL, key TEXT NOT NULL, revision INTEGER NOT NULL,
    PRIMARY KEY (session, key)) WITHOUT ROWID;
CREATE TABLE snapshots (session INTEGER NOT NULL, revision INTEGER NOT NULL, piece BLOB NOT NULL,
    head BLOB, PRIMARY KEY (session, revision));
CREATE TABLE words (session INTEGER NOT NULL, term TEXT NOT NULL, block INTEGER NOT NULL,
    postings BLOB NOT NULL, PRIMARY KEY (session, term, block)) WITHOUT ROWID;
"""

DAMAGED = "Restore a copy of the file, or what `sqlite3 FILE .recover` brings back of it"
"""The advice for a file that differs from what was written."""

# --- statements ---------------------------------------------------------------------------

FIND = "SELECT id, revision FROM sessions WHERE name = ?"
EVENTS = """
SELECT e.number, e.kind, e.state, e.at, e.resource_id, e.class, e.pinned, e.tokens, e.text,
e.checksum, t.content, t.more, t.checksum
FROM events e LEFT JOIN texts t ON t.id = e.text WHERE e.session = ?
"""
ADD_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
FORK_EVENTS = """
INSERT INTO events SELECT ?, number, kind, state, at, resource_id, class, pinned, tokens,
text, checksum FROM events WHERE session = ? AND number <= ?
"""
HOLDERS = """
SELECT DISTINCT sessions.name, other.resource_id FROM events own JOIN events other ON other.at
= own.at AND other.kind = own.kind
JOIN sessions ON sessions.id = other.session
WHERE own.session = ? AND own.kind <> 'promote'
AND own.resource_id IN (SELECT value FROM json_each(?)) AND typeof(sessions.name) = 'text'
"""
TURNS = "'system', 'user', 'assistant', 'tool'"
NUMBERS = f"""
SELECT resource_id, min(number) FROM events WHERE session = ? AND kind IN ({TURNS})
AND resource_id IN (SELECT value FROM json_each(?)) GROUP BY resource_id HAVING count(*) = 1
"""  # noqa: S608 - names of kinds alone
NAMES = "SELECT name FROM sessions WHERE typeof(name) = 'text' ORDER BY name"
DELETE_SESSION = "UPDATE sessions SET name = CAST(id AS BLOB), indexed = -1 WHERE id = ?"
DROP_INDEX = "UPDATE sessions SET indexed = -1 WHERE id = ?"
"""Mark what `sqlite_deletion` deletes in steps; no name of a session is a blob."""

SNAPSHOT = "SELECT max(revision) FROM snapshots WHERE session = ?"
COPY_SNAPSHOT = """
INSERT INTO snapshots SELECT ?, revision, piece, head FROM snapshots WHERE session = ?
"""
MARK_UNCLEAN = "INSERT OR REPLACE INTO sessions (name, revision) VALUES (x'', random())"
"""State that the file may hold copies of deleted data, until it is cleaned."""

MARK_MOVED = "UPDATE sessions SET revision = random() WHERE name = x''"
"""State that cleaning may have missed what was moved meanwhile, and has to begin again."""

MARK_CLEAN = "DELETE FROM sessions WHERE name = x''"
SET_REVISION = "UPDATE sessions SET revision = ? WHERE id = ?"
PUT_COMPANION = "INSERT OR REPLACE INTO companions VALUES (?, ?, ?, ?)"


def newest_mark(db: sqlite3.Connection) -> int | None:
    """Return the mark of the last erasure, None if the file has been cleaned since."""
    found: tuple[int] | None
    found = db.execute("SELECT revision FROM sessions WHERE name = x''").fetchone()
    return found and found[0]


def problem_of(db: sqlite3.Connection) -> tuple[str, str] | None:
    """Return why a database cannot be opened here, and what to do.

    Return None if it can.
    """
    application, version = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION_ID and db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return (
            "the database belongs to something else",
            "Use another file, or one that a session store made",
        )
    if version not in (0, SCHEMA):
        return (
            f"it was written by another polycontext (schema {version}; this one reads {SCHEMA})",
            "Open it with the version that wrote it, or use another file",
        )
    if version and any(row != ("ok",) for row in db.execute("PRAGMA integrity_check(sessions)")):
        return "the file is damaged: sessions are missing", DAMAGED
    return None


def is_new(db: sqlite3.Connection) -> bool:
    """Return whether a file has no tables yet."""
    return bool(db.execute("PRAGMA user_version").fetchone() == (0,))


def create_tables(db: sqlite3.Connection) -> None:
    """Create the tables in an empty file, whose version is 0, in one transaction."""
    if not is_new(db):
        return
    db.executescript(
        f"BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION_ID};"
        f"PRAGMA user_version = {SCHEMA}; COMMIT"
    )
