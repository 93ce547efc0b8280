"""The texts that excerpts stand for, kept in SQLite until they are old or there are too many.

They are a cache: every request carries them again. Texts are kept by caller, and a caller finds
only their own; the file holds a digest of each caller's token, never the token.
"""

import sqlite3
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from time import time

from polycontext.base import require
from polycontext.polynomial import StoreError

DAY = 86_400.0
_FRESH = 3_600.0
"""The seconds in which a text that is asked for again is not marked as used again."""

_APPLICATION = 0x504C594F
"""The application id ("PLYO") that distinguishes these files from other databases."""

_SCHEMA = """
PRAGMA secure_delete = ON;
PRAGMA journal_mode = TRUNCATE;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS originals(
    owner BLOB, hash TEXT, used REAL, text BLOB, PRIMARY KEY(owner, hash)
);
CREATE INDEX IF NOT EXISTS by_age ON originals(used);
"""

_BYTES = """SELECT (page_count - freelist_count) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size"""


class Originals:
    """The originals of excerpts, in a file or in memory.

    It can be used from any thread, and the file from any process of one machine.

    Args:
        path: the file; by default, they are in memory.
        megabytes: the most that is kept, compressed, with what SQLite adds; the least recently used
            texts go first, but never those that came last.
        days: how long a text is kept after it was last sent or read.

    Raises:
        InvalidOptionError: a limit is not above 0.
        StoreError: the file cannot be opened; says what to do.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        megabytes: float = 256,
        days: float = 30,
        clock: Callable[[], float] = time,
    ) -> None:
        require("megabytes", megabytes, megabytes > 0, "a number above 0")
        require("days", days, days > 0, "a number above 0")
        self._name, self._clock, self._lock = str(path or ":memory:"), clock, Lock()
        self._most, self._seconds = int(megabytes * 1_000_000), days * DAY
        self._fresh = min(_FRESH, self._seconds)
        with self._translated():
            if path is not None:
                Path(path).touch(0o600)
            self._db = sqlite3.connect(
                self._name, 5.0, isolation_level=None, check_same_thread=False
            )
            if self._is_foreign():
                self._db.close()
                raise sqlite3.DatabaseError("the database belongs to something else")
            if path is not None:
                with suppress(PermissionError):  # the file of another user stays as it is
                    Path(path).chmod(0o600)
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.executescript(_SCHEMA)

    def keep(self, owner: str, texts: Mapping[str, str]) -> None:
        """Keep texts by their hashes for `owner`.

        Raises:
            StoreError: they could not be stored.
        """
        me, now = _digest(owner), self._clock()
        fresh = "SELECT 1 FROM originals WHERE owner = ? AND hash = ? AND used > ?"
        with self._transaction(writes=False) as db:
            old = [
                name
                for name in texts
                if not db.execute(fresh, (me, name, now - self._fresh)).fetchone()
            ]
        if not old:
            return
        packed = [(me, name, now, zlib.compress(_encoded(texts[name]), 1)) for name in old]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO originals VALUES (?, ?, ?, ?)", packed)
            self._make_room(db, now, len(packed))

    def find(self, owner: str, name: str) -> str | None:
        """Return the text of `owner` with the hash `name`, None if there is none (any more).

        Raises:
            StoreError: the file could not be read.
        """
        found = "SELECT text, used FROM originals WHERE owner = ? AND hash = ? AND used > ?"
        mark = "UPDATE originals SET used = ? WHERE owner = ? AND hash = ?"
        me, now = _digest(owner), self._clock()
        with self._transaction(writes=False) as db:
            row = db.execute(found, (me, name, now - self._seconds)).fetchone()
        if row is None:
            return None
        if row[1] <= now - self._fresh:
            with suppress(StoreError), self._transaction() as db:
                db.execute(mark, (now, me, name))
        return zlib.decompress(row[0]).decode("utf-8", "surrogatepass")

    def erase(self, owner: str, name: str | None = None) -> int:
        """Erase one text of `owner`, or all, and return how many they were.

        What is erased is overwritten in the file.

        Raises:
            StoreError: they could not be erased.
        """
        erase = "DELETE FROM originals WHERE owner = ?1 AND (?2 IS NULL OR hash = ?2)"
        with self._transaction() as db:
            return db.execute(erase, (_digest(owner), name)).rowcount

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _is_foreign(self) -> bool:
        [(application,)] = self._db.execute("PRAGMA application_id")
        tables = self._db.execute("SELECT 1 FROM sqlite_master").fetchone()
        return application != _APPLICATION and tables is not None

    def _make_room(self, db: sqlite3.Connection, now: float, new: int) -> None:
        """Delete what is old or too much, but not the last `new` texts: their hashes are told."""
        db.execute("DELETE FROM originals WHERE used <= ?", (now - self._seconds,))
        delete = """DELETE FROM originals WHERE rowid =
            (SELECT rowid FROM originals WHERE rowid <= ? ORDER BY used LIMIT 1)"""
        [(last,)] = db.execute("SELECT max(rowid) - ? FROM originals", (new,)).fetchall()
        while db.execute(_BYTES).fetchone()[0] > self._most:
            if not db.execute(delete, (last,)).rowcount:
                break

    @contextmanager
    def _transaction(self, *, writes: bool = True) -> Generator[sqlite3.Connection]:
        with self._lock, self._translated():
            self._db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            advice = "Name another file that this user may write, or make room on its disk"
            raise StoreError(f"originals {self._name!r}", str(error), advice) from error


def _digest(owner: str) -> bytes:
    return blake2b(_encoded(owner), digest_size=16, person=b"originals").digest()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
