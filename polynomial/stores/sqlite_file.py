"""One connection to one database file, held by this process alone, and shared by all who use the file in it.

SQLite 3.7 to 3.51.2 can lose a commit where two connections write and checkpoint one file in WAL
mode (https://sqlite.org/wal.html#walresetbug): so there is never a second one. A lock beside the
file keeps other processes out, and tells them who is in.
"""

import ctypes
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import ClassVar, Self

from filelock import FileLock, Timeout

from ..errors import StoreBusyError, StoreError
from .sqlite_schema import DAMAGED, migrate, problem_of

_FAILED = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises: of damaged schema text its very message may be none that can be read."""

_OPEN: dict[str, "SQLiteFile"] = {}

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    # What is deleted is overwritten.
    "PRAGMA secure_delete = ON",
)

PRIVATE = 0o600
"""The mode of a file that holds conversations: its owner reads and writes it."""

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
        "the file is no SQLite database",
        "Use the file of a store, or a new one",
    ),
    sqlite3.SQLITE_BUSY: ("another program has the file open", "Close it there first"),
}


class SQLiteFile:
    """Hold the only connection to a file.

    `transaction` and `reading` hand it out to one thread at a time.
    """

    opening: ClassVar = RLock()

    def __init__(self, path: Path, timeout: float) -> None:
        self.path, self.name = path, f"store {str(path)!r}"
        self.users = 0
        self.known: dict[str, tuple[int, int]] = {}
        """Of sessions that were asked for: their numbers and their revisions. Nobody else writes.
        """
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
        """Return the file at `path`, opened if nobody in this process has it open.

        `release` it as often.

        Raises:
            StoreBusyError: another process has it, for longer than `timeout` seconds.
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
        """Close the file if nobody else in this process uses it."""
        with SQLiteFile.opening:
            self.users -= 1
            if self.users == 0 and self._process == os.getpid():
                _OPEN.pop(str(self.path), None)
                with self._using:
                    self._settle()
                    self._disconnect()
                    self._file_lock.release()

    def abandon(self) -> None:
        """Never touch the connection again: it belongs to the process that this one was forked from.

        Even closing it would write to the file (https://sqlite.org/howtocorrupt.html, "Carrying an
        open database connection across a fork()"), and so would its
        end: it must never be collected.
        """
        if self._connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    # --- using it -----------------------------------------------------------------

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Hand out the connection; nobody writes meanwhile."""
        self._check_process()
        with self._using, self._translate_errors():
            yield self._connection_in_use()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Hand out the connection.

        What is done with it is durable behind the block, or nothing of it has happened.

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

    def checkpoint(self) -> None:
        """Bring everything into the database and empty the log of writes beside it."""
        with self.reading() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def damaged(self, what: str) -> StoreError:
        """Return the error that says that something read is not what was written."""
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
        """Return the lock of the file, taken.

        Whoever waits for it can read in it which process has it.
        """
        place = self.path.with_name(f"{self.path.name}.lock")
        if not place.parent.is_dir():
            raise StoreError(
                self.name,
                "its folder is not there",
                _FOLDER,
            )
        lock = FileLock(place, timeout=timeout, thread_local=False, mode=PRIVATE)
        # Before it is tried: up to filelock 3.29 whoever tries in vain empties the file of whoever
        # has it.
        before = _pid_in(place)
        try:
            lock.acquire()
        except Timeout:
            pid = _pid_in(place) or before
            problem = f"process {pid or 'of an unknown number'} has it open, for more than the {timeout:g} seconds that were waited"
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
            # Before the file is first looked at: then nothing is shared with other processes, not
            # even memory.
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._check(db)
            for setting in _SETTINGS:
                db.execute(setting)
            migrate(db)
        except BaseException:
            db.close()
            raise
        self._connection = db

    def _check(self, db: sqlite3.Connection) -> None:
        """Refuse a file that cannot be written to, or that is no store, before anything in it is changed."""
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
        """Note beside each session how many events it has: what is missing from the end of its journal is noticed by that."""
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
        """Undo a transaction.

        Where the disk failed, what the file holds is found out by opening it again.
        """
        self.known.clear()
        with suppress(*_FAILED):
            db.execute("ROLLBACK")
        if isinstance(error, _FAILED):
            self._disconnect()

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Say in words what SQLite says in codes."""
        try:
            yield
        except _FAILED as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            unknown = ("the file is damaged, or not what it was", DAMAGED)
            problem, legal = _PROBLEMS.get(code & 0xFF, unknown)
            raise StoreError(self.name, f"{problem} ({error})", legal) from error


def may_exist(path: Path) -> bool:
    """Tell whether a file is there; where that cannot be told, opening it will say why."""
    try:
        return path.exists()
    except OSError:
        return True


def make_private(path: Path) -> None:
    """Make an empty file that its owner alone can read, where none is there.

    What SQLite writes beside a database has its mode.
    """
    with suppress(OSError):  # what is wrong with the place is told by whoever opens the file
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))


def _pid_in(place: Path) -> int | None:
    try:
        return int(place.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _abandon_all() -> None:
    """Begin without any open file in a process that was just forked."""
    # Another thread of the parent may have held it at that moment.
    SQLiteFile.opening = RLock()
    for file in _OPEN.values():
        file.abandon()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
