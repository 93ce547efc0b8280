"""The only connection to a database file, shared by all users of the file in this process.

SQLite 3.7 to 3.51.2 can lose a commit if two connections write and checkpoint one file in WAL mode
(https://sqlite.org/wal.html#walresetbug), so there is never a second connection. A lock file next
to the database keeps other processes out, and contains the id of the process that holds it.
"""

import ctypes
import logging
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import ClassVar, Self

from filelock import FileLock, Timeout

from ..errors import StoreBusyError, StoreError
from .sqlite_schema import (
    DAMAGED,
    IS_UNCLEAN,
    MARK_CLEAN,
    MARK_UNCLEAN,
    create_tables,
    problem_of,
)

_FAILED = (sqlite3.Error, UnicodeDecodeError)
"""The exceptions that SQLite raises.

If schema text is damaged, the error message may not be decodable.
"""

_OPEN: dict[str, "SQLiteFile"] = {}

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    # Deleted data is overwritten.
    "PRAGMA secure_delete = ON",
)

PRIVATE = 0o600
"""The mode of files with conversations: only the owner can read and write them."""

_WRITABLE = "Use a file and a folder that this user may write to"
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
    sqlite3.SQLITE_PERM: (
        "the file may not be opened",
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


_COPIES = "the data is deleted, but the file may still hold copies of it"
_REOPEN = "Make room on the disk and open the file again, which cleans it"
_LOG = logging.getLogger("polycontext.stores")


class SQLiteFile:
    """The only connection to a file.

    `transaction` and `reading` yield it to one thread at a time.
    """

    opening: ClassVar = RLock()

    def __init__(self, path: Path, timeout: float) -> None:
        self.path, self.name = path, f"store {str(path)!r}"
        self.users = 0
        self.known: dict[str, tuple[int, int]] = {}
        """The numbers and revisions of sessions that were looked up; there are no other writers."""
        self._using = Lock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._file_lock = self._acquire_lock(timeout)
        try:
            with self._translate_errors():
                self._connect()
        except BaseException:
            self._file_lock.release()
            raise

    # --- shared within the process ----------------------------------------------

    @classmethod
    def shared(cls, path: Path, timeout: float) -> Self:
        """Return the file at `path`, opened if it is not open in this process yet.

        Call `release` once for each call.

        Raises:
            StoreBusyError: another process holds it for longer than `timeout` seconds.
            StoreError: it cannot be opened.
        """
        key = os.path.realpath(path)
        with SQLiteFile.opening:
            file = _OPEN.get(key)
            if not isinstance(file, cls):
                file = _OPEN[key] = cls(Path(key), timeout)
            file.users += 1
            return file

    def release(self) -> None:
        """Close the file if nothing else in this process uses it."""
        with SQLiteFile.opening:
            self.users -= 1
            if self.users == 0 and self._process == os.getpid():
                _OPEN.pop(str(self.path), None)
                with self._using:
                    self._settle()
                    self._disconnect()
                    self._file_lock.release()

    def abandon(self) -> None:
        """Never use the connection again, because it belongs to the parent process of a fork.

        Closing it would write to the file (https://sqlite.org/howtocorrupt.html, "Carrying an open
        database connection across a fork()"). So would its finaliser, so it must never be
        collected.
        """
        if self._connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    # --- using it -----------------------------------------------------------------

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Yield the connection; there are no writes meanwhile."""
        self._check_process()
        with self._using, self._translate_errors():
            yield self._connection_in_use()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction.

        After the block, all changes are durable, or none was made.

        Raises:
            StoreError: it could not be stored; says what to do.
        """
        self._check_process()
        with self._using, self._translate_errors():
            db = self._connection_in_use()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                self._roll_back(db, error)
                raise

    @contextmanager
    def erasing(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction that deletes data; then clean the files of it.

        `secure_delete` overwrites deleted cells, but not the copies that moving a cell leaves.

        Raises:
            StoreError: it could not be stored, or the files could not be cleaned; opening the file
                again tries to clean them again.
        """
        with self.transaction() as db:
            db.execute(MARK_UNCLEAN)
            yield db
        try:
            with self.reading() as db:
                _clean(db)
        except StoreError as error:
            raise StoreError(self.name, f"{_COPIES}: {error}", _REOPEN) from error

    def damaged(self, what: str) -> StoreError:
        """Return the error for data that differs from what was written."""
        return StoreError(self.name, f"the file is damaged: {what}", DAMAGED)

    # --- inside -------------------------------------------------------------------

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise StoreError(
                self.name,
                "it was opened before this process was forked",
                "Open it again here, once the other has closed it",
            )

    def _acquire_lock(self, timeout: float) -> FileLock:
        """Acquire and return the lock of the file.

        The process id is written to it, so that other processes can report who holds it.
        """
        place = self.path.with_name(f"{self.path.name}.lock")
        if not place.parent.is_dir():
            raise StoreError(
                self.name,
                "its folder is not there",
                _FOLDER,
            )
        lock = FileLock(place, timeout=timeout, thread_local=False, mode=PRIVATE)
        # Read before acquiring: up to filelock 3.29, a failed attempt empties the lock file.
        before = _pid_in(place)
        try:
            lock.acquire()
        except Timeout:
            pid = _pid_in(place) or before
            problem = (
                f"process {pid or 'of an unknown number'} has it open, for more than the "
                f"{timeout:g} seconds that were waited"
            )
            raise StoreBusyError(
                self.name, problem, "Close it there, or raise the timeout", pid
            ) from None
        except OSError as error:
            problem = f"its folder cannot be written to ({error.strerror})"
            raise StoreError(self.name, problem, _FOLDER) from error
        with suppress(OSError):
            place.write_text(f"{os.getpid()}\n", encoding="ascii")
        return lock

    def _connect(self) -> None:
        make_private(self.path)
        db = sqlite3.connect(self.path, timeout=1, isolation_level=None, check_same_thread=False)
        try:
            # Set before the file is first accessed, so that nothing is shared with other processes,
            # not even memory.
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._check(db)
            for setting in _SETTINGS:
                db.execute(setting)
            create_tables(db)
            if db.execute(IS_UNCLEAN).fetchone():
                self._clean_again(db)
        except BaseException:
            db.close()
            raise
        self._connection = db

    def _clean_again(self, db: sqlite3.Connection) -> None:
        """Clean a file whose cleaning failed or was interrupted, or log that it failed again."""
        try:
            _clean(db)
        except sqlite3.Error as error:
            _LOG.warning("%s: %s: %s. %s.", self.name, _COPIES, error, _REOPEN)

    def _check(self, db: sqlite3.Connection) -> None:
        """Raise if a file is not writable or not a store, before anything in it is changed."""
        writable = not self.path.exists() or os.access(self.path, os.R_OK | os.W_OK)
        problem = problem_of(db) if writable else _PROBLEMS[sqlite3.SQLITE_READONLY]
        if problem is not None:
            raise StoreError(self.name, *problem)

    def _connection_in_use(self) -> sqlite3.Connection:
        if self.users == 0:
            raise StoreError(self.name, "it was closed", "Open it again")
        if self._connection is None:
            self._connect()
        assert self._connection is not None
        return self._connection

    def _settle(self) -> None:
        """Store the event count of each session, so that missing events at the end are detected."""
        if self._connection is not None and self.known:
            rows = [(revision, session) for session, revision in self.known.values()]
            with suppress(*_FAILED):
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany(
                    "UPDATE sessions SET revision = ?1 WHERE id = ?2 AND revision <> ?1", rows
                )
                self._connection.execute("COMMIT")

    def _disconnect(self) -> None:
        self.known.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*_FAILED):
                connection.close()

    def _roll_back(self, db: sqlite3.Connection, error: BaseException) -> None:
        """Roll back a transaction.

        If SQLite failed, the file is closed, and opened again when it is next used.
        """
        self.known.clear()
        with suppress(*_FAILED):
            db.execute("ROLLBACK")
        if isinstance(error, _FAILED):
            self._disconnect()

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
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
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


def _pid_in(place: Path) -> int | None:
    try:
        return int(place.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _abandon_all() -> None:
    """Forget all open files in a process that was just forked."""
    # Another thread of the parent may have held the lock at that moment.
    SQLiteFile.opening = RLock()
    for file in _OPEN.values():
        file.abandon()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
