"""The connection to a database file that all users of the file in this process share.

Any number of processes write a file, one at a time: SQLite 3.7 to 3.51.2 can lose a commit beside a
checkpoint of another connection (https://sqlite.org/wal.html#walresetbug), so both are made under a
lock on a file next to the database. Readers need no lock.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock, get_ident
from typing import ClassVar, TypeVar

from ..errors import StoreBusyError, StoreError
from .file_lock import PRIVATE, FileLock, MachineLock
from .sqlite_schema import (
    DAMAGED,
    IS_UNCLEAN,
    MARK_CLEAN,
    MARK_UNCLEAN,
    create_tables,
    problem_of,
)

L = TypeVar("L", FileLock, MachineLock)

_FAILED = (sqlite3.Error, UnicodeDecodeError)
"""The exceptions that SQLite raises.

If schema text is damaged, the error message may not be decodable.
"""

_OPEN: "list[SQLiteFile]" = []

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    # Deleted data is overwritten.
    "PRAGMA secure_delete = ON",
    # Checkpoints are made under the lock.
    "PRAGMA wal_autocheckpoint = 0",
    # A log that has grown is cut when it begins anew, so that its size tells when it is long.
    "PRAGMA journal_size_limit = 4000000",
)

_LONG = 4_100_000
"""The number of bytes from which the write-ahead log is moved into the database file."""

_WRITABLE = "Use a file and a folder that this user may write to"
_ELSEWHERE = "Close it there, or keep the sessions on a PostgreSQL server"
_FOLDER = "Use a folder that exists and that this user may write to"
_PROBLEMS = {
    sqlite3.SQLITE_FULL: (
        "the disk is full, or the file may not grow; nothing of this was stored",
        "Make room and try again",
    ),
    sqlite3.SQLITE_IOERR: (
        "reading or writing failed; it is not known whether this was stored",
        "Try again with the same idempotency_key",
    ),
    sqlite3.SQLITE_READONLY: (
        "the file is read-only",
        _WRITABLE,
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be opened",
        _WRITABLE,
    ),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", DAMAGED),
    sqlite3.SQLITE_NOTADB: (
        "the file is not an SQLite database",
        "Use the file of a store, or a new one",
    ),
    sqlite3.SQLITE_BUSY: ("another program has the file open", "Close it there first"),
}


_LOST = "the file was moved, removed or replaced while it was open; nothing of this was stored"
_FIND = "Put it back, or keep what history.export() returns, and open the file again"
_COPIES = "the data is deleted, but the file may still hold copies of it"
_REOPEN = "Make room on the disk and open the file again, which cleans it"
_LOG = logging.getLogger("polycontext.stores")


class SQLiteFile:
    """The connection of this process to a file.

    `transaction` and `reading` yield it to one thread at a time.
    """

    opening: ClassVar = RLock()

    def __init__(self, path: Path, timeout: float) -> None:
        self.path, self.name = path, f"store {str(path)!r}"
        self._beside = f"{path}-wal", f"{path}-shm"
        self.users = 0
        self._timeout = timeout
        self._writer: tuple[int, int] | None = None
        self.using = Lock()
        self._connection: sqlite3.Connection | None = None
        with self.alone():
            self._machine = self._lock(MachineLock, ".machine")
            try:
                with self._translate_errors():
                    self._connect()
            except BaseException:
                self._machine.release()
                raise

    # --- shared within the process ----------------------------------------------

    @staticmethod
    def shared(path: Path, timeout: float) -> "SQLiteFile":
        """Return the file at `path`, opened if it is not open in this process yet.

        Call `release` once for each call.

        Raises:
            StoreBusyError: other processes write it for longer than `timeout` seconds, or another
                machine has it open.
            StoreError: it cannot be opened.
        """
        key = os.path.realpath(path)
        if Path(key).is_dir():
            advice = f"Use a file in it, such as {str(path / 'sessions.db')!r}"
            raise StoreError(f"store {str(path)!r}", "this is a folder", advice)
        with SQLiteFile.opening:
            there = (each for each in _OPEN if str(each.path) == key and not each.is_lost())
            file = next(there, None)
            if file is None:
                file = SQLiteFile(Path(key), timeout)
                _OPEN.append(file)
            file.users += 1
            return file

    def release(self) -> None:
        """Close the file if nothing else in this process uses it."""
        with SQLiteFile.opening, ExitStack() as parted:
            self.users -= 1
            if self.users == 0:
                _OPEN.remove(self)
                self.part(parted)
                self._machine.release()

    def part(self, parted: ExitStack) -> None:
        """Close the connection, and keep it closed until `parted` is closed.

        No connection may be carried into a forked process, not even unused: SQLite's own record of
        its locks would be copied, and be wrong there (https://sqlite.org/howtocorrupt.html).
        """
        with ExitStack() as stack:
            with suppress(StoreError):  # others write for too long: better now than never
                stack.enter_context(self.alone())
            parted.enter_context(self.using)
            self._disconnect()

    # --- using it -----------------------------------------------------------------

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep all other threads and processes from writing during the block.

        Raises:
            StoreBusyError: others wrote for longer than the timeout.
        """
        me = os.getpid(), get_ident()
        if self._writer == me:
            yield
            return
        lock = self._lock(FileLock, ".lock")
        try:
            if not lock.acquire(self._timeout):
                problem = f"others wrote to it for more than the {self._timeout:g} seconds waited"
                raise StoreBusyError(self.name, problem, "Try again, or raise the timeout")
            self._writer = me
            yield
        finally:
            # A process that was forked meanwhile leaves the lock alone.
            if me[0] == os.getpid():
                self._writer = None
                lock.release()

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction that sees nothing that is written meanwhile."""
        while True:
            with self.using, self._translate_errors():
                db = self._connection
                if self.users and db is not None and not self._is_stale():
                    db.execute("BEGIN")
                    try:
                        yield db
                    finally:
                        with suppress(*_FAILED):
                            db.execute("ROLLBACK")
                    return
            with self.transaction():  # connects
                pass

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction.

        After the block, all changes are durable, or none was made.

        Raises:
            StoreError: it could not be stored; says what to do.
        """
        with self.alone(), self.using, self._translate_errors():
            db = self._connected()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                with suppress(*_FAILED):
                    db.execute("ROLLBACK")
                # If SQLite failed, the next use connects anew.
                if isinstance(error, _FAILED):
                    self._disconnect()
                raise
            # The data is durable, whether it can be moved or not.
            with suppress(OSError, *_FAILED):
                if os.stat(self._beside[0]).st_size > _LONG:  # noqa: PTH116 - twice as fast
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def erasing(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction that deletes data; then clean the files of it.

        `secure_delete` overwrites deleted cells, but not the copies that moving a cell leaves.

        Raises:
            StoreError: it could not be stored, or the files could not be cleaned; opening the file
                again tries to clean them again.
        """
        with self.alone():
            with self.transaction() as db:
                db.execute(MARK_UNCLEAN)
                yield db
            try:
                with self.using, self._translate_errors():
                    _clean(self._connected())
            except StoreError as error:
                raise StoreError(self.name, f"{_COPIES}: {error}", _REOPEN) from error

    def closed(self) -> StoreError:
        """Return the error for a file or store that was closed."""
        return StoreError(self.name, "it was closed", "Open it again")

    # --- inside -------------------------------------------------------------------

    def _lock(self, kind: Callable[[Path], L], ending: str) -> L:
        """Return the lock on a file next to the database."""
        try:
            return kind(Path(f"{self.path}{ending}"))
        except FileNotFoundError:
            problem = "its folder is not there"
        except OSError as error:
            problem = f"its folder cannot be written to ({error.strerror})"
        raise StoreError(self.name, problem, _FOLDER)

    def _connect(self) -> None:
        if self._machine.other:
            problem = f"machine {self._machine.other} has it open, and a file serves one at a time"
            raise StoreBusyError(self.name, problem, _ELSEWHERE)
        make_private(self.path)
        db = sqlite3.connect(
            self.path, self._timeout or 1, isolation_level=None, check_same_thread=False
        )
        try:
            self._check(db)
            for setting in _SETTINGS:
                db.execute(setting)
            create_tables(db)
            if db.execute(IS_UNCLEAN).fetchone():
                try:
                    _clean(db)
                except sqlite3.Error as error:
                    _LOG.warning("%s: %s: %s. %s.", self.name, _COPIES, error, _REOPEN)
        except BaseException:
            db.close()
            raise
        self._connection, self.own = db, self._inodes()
        self._inode = os.stat(self.path).st_ino  # noqa: PTH116 - twice as fast

    def is_lost(self) -> bool:
        """Return whether the file at the path is another one than was opened, or none.

        SQLite would go on writing into a file that has no name. What is in it can still be read.
        """
        try:
            return os.stat(self.path).st_ino != self._inode  # noqa: PTH116 - as above
        except OSError:
            return True

    def _inodes(self) -> list[int]:
        """Return the inodes of SQLite's files next to the database, none if one is missing."""
        with suppress(OSError):
            return [os.stat(each).st_ino for each in self._beside]  # noqa: PTH116 - as above
        return []

    def _is_stale(self) -> bool:
        """Return whether there is no connection, or one to files that were deleted.

        Reading the database in this process, as a backup does, drops SQLite's locks on it. Another
        process that closes it then deletes the files next to it, and commits to them are lost.
        """
        if self._connection is None:
            return True
        return self._inodes() != self.own and not self.is_lost()

    def _check(self, db: sqlite3.Connection) -> None:
        """Raise if a file is not writable or not a store, before anything in it is changed."""
        writable = not self.path.exists() or os.access(self.path, os.R_OK | os.W_OK)
        if problem := problem_of(db) if writable else _PROBLEMS[sqlite3.SQLITE_READONLY]:
            raise StoreError(self.name, *problem)

    def _connected(self) -> sqlite3.Connection:
        """Return the connection; a new one only under the lock."""
        if self.users == 0:
            raise self.closed()
        if self.is_lost():
            raise StoreError(self.name, _LOST, _FIND)
        if self._is_stale():
            self._disconnect()
            self._connect()
        assert self._connection is not None
        return self._connection

    def _disconnect(self) -> None:
        """Close the connection.

        It would delete the log that is there now, even one that is not its own: that one is kept.
        """
        connection, self._connection = self._connection, None
        if connection is not None:
            log, kept = Path(self._beside[0]), Path(f"{self.path}-wal-kept")
            with suppress(OSError):
                kept.unlink(missing_ok=True)
                if self._inodes() != self.own:
                    kept.hardlink_to(log)
            with suppress(*_FAILED):
                connection.close()
            with suppress(OSError):
                log.hardlink_to(kept)
            with suppress(OSError):
                kept.unlink()

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Translate SQLite's errors into `StoreError`."""
        try:
            yield
        except _FAILED as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            unknown = ("the file is damaged, or not what it was", DAMAGED)
            problem, legal = _PROBLEMS.get(code & 0xFF, unknown)
            raise StoreError(self.name, f"{problem} ({error})", legal) from error


def _clean(db: sqlite3.Connection) -> None:
    """Move everything into the database file, without gaps, and empty the write-ahead log."""
    db.execute("VACUUM")
    (is_busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        error = sqlite3.OperationalError("a reader needs the old log")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error
    db.execute(MARK_CLEAN)


def may_exist(path: Path) -> bool:
    """Return whether a file exists, True if that is unknown: opening it reports the reason."""
    try:
        return path.exists()
    except OSError:
        return True


def make_private(path: Path) -> None:
    """Create an empty file that only its owner can read, if there is none.

    SQLite gives the same mode to the files that it creates next to a database.
    """
    with suppress(OSError):  # opening the file reports the reason
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))


_PARTED = ExitStack()
"""What is held during a fork: as much as was reached, if an interrupt came."""


def _part_all() -> None:
    _PARTED.enter_context(SQLiteFile.opening)
    for file in _OPEN:
        file.part(_PARTED)


def _go_on_all() -> None:
    # Empty before the next thread that forks begins.
    _PARTED.pop_all().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_part_all, after_in_parent=_go_on_all, after_in_child=_go_on_all)
