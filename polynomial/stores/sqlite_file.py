"""The connection to a database file that all users of the file in this process share.

Any number of processes write a file, one at a time: SQLite 3.7 to 3.51.2 can lose a commit beside a
checkpoint of another connection (https://sqlite.org/wal.html#walresetbug), so both are made under a
lock on a file next to the database. Readers need no lock, and no right to write.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import TIMEOUT_MAX, Lock, RLock, get_ident
from time import monotonic, sleep
from typing import BinaryIO, ClassVar, TypeVar

from ..errors import StoreBusyError, StoreError
from .file_lock import PRIVATE, FileLock, MachineLock
from .sqlite_deletion import delete_some
from .sqlite_pages import Wiping
from .sqlite_schema import (
    DAMAGED,
    MARK_MOVED,
    MARK_UNCLEAN,
    create_tables,
    is_new,
    newest_mark,
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
_UNWRITABLE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}
"""The errors after which a file may still be readable."""

_PAUSE = 0.01
"""The seconds between two steps of cleaning, in which writers that wait are let in."""

_PATIENCE = 0.1
"""The seconds in which readers can let go of the log, in each step."""

_READABLE = "the file can be read, but not written; nothing of this was stored"
_MAKE_WRITABLE = "Make room on the disk, or use a file and a folder that this user may write to"
_COPIES = "the data is deleted, but the file may still hold copies of it"
_REOPEN = "Make room on the disk and delete it again, or open the file again, which cleans it"
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
        self.turn, self.using = Lock(), Lock()
        self._connection: sqlite3.Connection | None = None
        self._is_writable = False
        self._raw: BinaryIO | None = None
        self._has_erased = False
        self._machine: MachineLock | None = None
        try:
            with self._translate_errors():
                self._connect()
        except BaseException:
            self._release_machine()
            raise

    # --- shared within the process ----------------------------------------------

    @staticmethod
    def shared(path: Path, timeout: float) -> "SQLiteFile":
        """Return the file at `path`, opened if it is not open in this process yet.

        Call `release` once for each call.

        Raises:
            StoreBusyError: another machine has it open, or it is new and others write it for longer
                than `timeout` seconds.
            StoreError: it cannot be opened.
        """
        key = os.path.realpath(path)
        if Path(key).is_dir():
            advice = f"Use a file in it, such as {str(path / 'sessions.db')!r}"
            raise StoreError(f"store {str(path)!r}", "this is a folder", advice)
        with SQLiteFile.opening:
            there = (each for each in _OPEN if str(each.path) == key and not each.is_lost())
            file = next(there, None)
            is_open = file is not None
            if file is None:
                file = SQLiteFile(Path(key), timeout)
                _OPEN.append(file)
            file.users += 1
        if not is_open:
            file.clean_up()
        return file

    def release(self) -> None:
        """Close the file if nothing else in this process uses it."""
        with SQLiteFile.opening, ExitStack() as parted:
            self.users -= 1
            if self.users == 0:
                _OPEN.remove(self)
                self.part(parted)
                self._release_machine()

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
    def alone(self, timeout: float | None = None) -> Generator[None]:
        """Keep all other threads and processes from writing during the block.

        Afterwards the files are cleaned, if data was erased.

        Raises:
            StoreBusyError: others wrote for longer than the timeout.
        """
        me = os.getpid(), get_ident()
        if self._writer == me:
            yield
            return
        seconds = self._timeout if timeout is None else timeout
        until = monotonic() + seconds
        with ExitStack() as held:
            if not self.turn.acquire(timeout=min(seconds, TIMEOUT_MAX)):
                raise self._busy(seconds)
            held.callback(self.turn.release)
            lock = self._lock(FileLock, ".lock")
            held.callback(lock.release)
            if not lock.acquire(until - monotonic()):
                raise self._busy(seconds)
            self._writer = me
            try:
                yield
            finally:
                if me[0] == os.getpid():
                    self._writer = None
                else:  # a process that was forked meanwhile leaves the locks alone
                    held.pop_all()
            has_erased, self._has_erased = self._has_erased, False
        if has_erased:
            self._clean()

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction that sees nothing that is written meanwhile."""
        while True:
            with self.using, self._translate_errors():
                can_connect = not self._is_writable and self._is_stale() and not self.is_lost()
                if self.users and can_connect:
                    self._disconnect()
                    self._connect()
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
    def transaction(self, timeout: float | None = None) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction.

        After the block, all changes are durable, or none was made.

        Raises:
            StoreError: it could not be stored; says what to do.
        """
        with self.alone(timeout), self.using, self._translate_errors():
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
            with suppress(*_FAILED):
                if _size_of(self._beside[0]) > _LONG:
                    db.execute(MARK_MOVED)
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def erasing(self) -> Generator[sqlite3.Connection]:
        """Yield the connection in a transaction that deletes data; then clean the files of it.

        If the caller is already `alone`, they are cleaned once it is no more.

        Raises:
            StoreError: it could not be stored, or the files could not be cleaned; opening the file
                again tries to clean them again.
        """
        with self.alone():
            with self.transaction() as db:
                db.execute(MARK_UNCLEAN)
                yield db
            self._has_erased = True

    def clean_up(self) -> None:
        """Clean the files of what was erased by a process that was killed before it cleaned them.

        While others have the file open, one of them may be cleaning it.
        """
        is_first = self._machine is not None and self._machine.is_first
        with self.reading() as db:
            if not is_first or newest_mark(db) is None:
                return
        try:
            self._clean()
        except StoreError as error:
            _LOG.warning("%s", error)

    def clean_rest(self) -> None:
        """Clean the files if that failed after an earlier deletion.

        Raises:
            StoreError: it could not be done.
        """
        with self.reading() as db:
            mark = newest_mark(db)
        if mark is not None:
            self._clean()

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

    def _busy(self, seconds: float) -> StoreBusyError:
        problem = f"others wrote to it for more than the {seconds:g} seconds waited"
        return StoreBusyError(self.name, problem, "Try again, or raise the timeout")

    def _release_machine(self) -> None:
        if self._machine is not None:
            self._machine.release()

    def _connect(self, *, writes: bool = False) -> None:
        """Connect; if the file cannot be written and nobody `writes`, for reading alone."""
        try:
            self._open("rwc")
        except StoreBusyError:
            raise
        except (StoreError, *_FAILED) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_READONLY) & 0xFF
            may_be_read = code in _UNWRITABLE
            if writes and may_be_read and not isinstance(error, StoreError):
                raise StoreError(self.name, f"{_READABLE} ({error})", _MAKE_WRITABLE) from error
            if writes or not may_be_read or not self._open_for_reading():
                raise

    def _open_for_reading(self) -> bool:
        """Connect to a file that cannot be written, and return whether that succeeded.

        SQLite needs a file beside the database to read the log, but not where there is none.
        """
        for mode in ("ro", "ro&immutable=1") if _size_of(self.path) else ():
            with suppress(*_FAILED):
                if mode == "ro" or not _size_of(self._beside[0]):
                    self._open(mode)
                    return True
        return False

    def _open(self, mode: str) -> None:
        is_writable = mode == "rwc"
        with ExitStack() as creating:  # several processes may create it at once
            if is_writable:
                if not _size_of(self.path):
                    creating.enter_context(self.alone())
                self._make_writable()
            db = self._connection_in(mode, self._timeout or 1)
            try:
                self._check(db)
                if is_writable:
                    if is_new(db):
                        creating.enter_context(self.alone())
                    for setting in _SETTINGS:
                        db.execute(setting)
                    create_tables(db)
            except BaseException:
                db.close()
                raise
        self._connection, self.own, self._is_writable = db, self._inodes(), is_writable
        self._inode = os.stat(self.path).st_ino  # noqa: PTH116 - twice as fast

    def _make_writable(self) -> None:
        """Raise if the file cannot be written or another machine has it, and create a new one."""
        if self._machine is None:
            self._machine = self._lock(MachineLock, ".machine")
        if self._machine.other:
            problem = f"machine {self._machine.other} has it open, and a file serves one at a time"
            raise StoreBusyError(self.name, problem, _ELSEWHERE)
        make_private(self.path)
        if self.path.exists() and not os.access(self.path, os.R_OK | os.W_OK):
            raise StoreError(self.name, *_PROBLEMS[sqlite3.SQLITE_READONLY])

    def _connection_in(self, mode: str, seconds: float) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            seconds,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )

    def is_lost(self) -> bool:
        """Return whether the file at the path is another one than was opened, or none.

        SQLite would go on writing into a file that has no name. What is in it can still be read.
        """
        try:
            return os.stat(self.path).st_ino != self._inode  # noqa: PTH116 - as above
        except OSError:
            return True

    def _check(self, db: sqlite3.Connection) -> None:
        """Raise if a file is not a store, before anything in it is changed."""
        if problem := problem_of(db):
            raise StoreError(self.name, *problem)

    def _inodes(self) -> list[int]:
        """Return the inodes of the files next to the database, or when it was changed last."""
        with suppress(OSError):
            return [os.stat(each).st_ino for each in self._beside]  # noqa: PTH116 - as above
        with suppress(OSError):
            return [self.path.stat().st_mtime_ns]
        return []

    def _is_stale(self) -> bool:
        """Return whether there is no connection, or one to files that were deleted.

        Reading the database in this process, as a backup does, drops SQLite's locks on it. Another
        process that closes it then deletes the files next to it, and commits to them are lost.
        """
        if self._connection is None:
            return True
        return self._inodes() != self.own and not self.is_lost()

    def _connected(self) -> sqlite3.Connection:
        """Return the connection; a new one only under the lock."""
        if self.users == 0:
            raise self.closed()
        if self.is_lost():
            raise StoreError(self.name, _LOST, _FIND)
        if self._is_stale() or not self._is_writable:
            self._disconnect()
            self._connect(writes=True)
        assert self._connection is not None
        return self._connection

    def _disconnect(self) -> None:
        """Close the connection.

        It would delete the log that is there now, even one that is not its own: that one is kept.
        """
        connection, self._connection, self._is_writable = self._connection, None, False
        if connection is not None:
            log, kept = Path(self._beside[0]), Path(f"{self.path}-wal-kept")
            with suppress(OSError):
                kept.unlink(missing_ok=True)
                if self._inodes() != self.own:
                    kept.hardlink_to(log)
            with suppress(*_FAILED):
                connection.close()
            if self._raw is not None:
                self._raw.close()
                self._raw = None
            with suppress(OSError):
                log.hardlink_to(kept)
            with suppress(OSError):
                kept.unlink()

    def _clean(self) -> None:
        """Remove the copies of erased data from all files, in steps between which others write.

        Raises:
            StoreError: it could not be done.
        """
        try:
            # Once there is no mark, somebody else has cleaned the file.
            while (mark := self._delete()) is not None and not self._wipe(mark):
                pass
        except (OSError, StoreError) as error:
            raise StoreError(self.name, f"{_COPIES}: {error}", _REOPEN) from error

    def _delete(self) -> int | None:
        """Delete what is marked as gone, and return the mark of the last erasure until then."""
        while True:
            with self.alone():
                with self.transaction() as db:
                    has_more = delete_some(db)
                with self.reading() as db:
                    mark = newest_mark(db)
            if not has_more:
                return mark
            sleep(_PAUSE)

    def _wipe(self, mark: int) -> bool:
        """Wipe the database, and return whether nothing else was erased or moved meanwhile.

        The connection is one of its own, since what the shared one remembers of a page may have
        copies. Closing the file drops SQLite's locks, so it is kept open beside the connection.
        """
        wiping, until = Wiping(mark, Path(self._beside[0])), monotonic() + self._timeout
        while wiping.is_clean is None:
            before = wiping.place
            with self.alone(), self.using, self._translate_errors():
                self._connected()
                self._raw = self._raw or self.path.open("r+b", buffering=0)
                with closing(self._connection_in("rw", _PATIENCE)) as db:
                    wiping.go_on(self._raw, db)
            if wiping.place != before:
                until = monotonic() + self._timeout
            elif monotonic() > until:
                raise StoreError(self.name, *_PROBLEMS[sqlite3.SQLITE_BUSY])
            sleep(_PAUSE)
        return wiping.is_clean

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


def _size_of(path: str | Path) -> int:
    with suppress(OSError):
        return os.stat(path).st_size  # noqa: PTH116 - as above
    return 0


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


def _go_on_in_child() -> None:
    for file in _OPEN:
        file.turn = Lock()  # another thread of the parent may have it
    _go_on_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_part_all, after_in_parent=_go_on_all, after_in_child=_go_on_in_child
    )
