"""The store in a SQLite file, the default for embedded use; it only needs a path."""

import struct
import weakref
import zlib
from collections.abc import Collection, Generator, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

import orjson

from polycontext.base import guided, is_number, require
from polycontext.base.effects import twin
from polycontext.pressure import ConflictError
from polycontext.window import Turn

from ..errors import StoreError
from ..journal.events import Event
from . import sqlite_schema as sql
from .search_query import AskedWords
from .session_store import Found, Opened, Rewritten, Snapshot, Stored, check_fork
from .sqlite_deletion import delete_rows
from .sqlite_file import SQLiteFile, may_exist
from .sqlite_index import indexed, read_index, update_index
from .sqlite_journals import SQLiteJournal


@guided
class SQLiteStore:
    """A store for sessions in a SQLite file.

    It can be used from any thread, event loop and process of one machine. Once `append` returns,
    the data is on the disk, even if the process or the machine crashes. Stores with the same path
    share one connection in a process.

    Args:
        timeout: how many seconds to wait while others write.
        create: whether to create a file that does not exist.

    Raises:
        StoreBusyError: others write for longer, or another machine has the file open.
        StoreError: the file cannot be opened, is not a store, or does not exist; says what to do.

    >>> from tempfile import mkdtemp
    >>> store = SQLiteStore(Path(mkdtemp()) / "sessions.db")
    >>> store.append("s", 0, [], {"notes": '{"seen":1}'})
    >>> store.load("s").companions, store.list_sessions()
    ({'notes': '{"seen":1}'}, ('s',))
    >>> store.close()
    """

    def __init__(self, path: str | Path, *, timeout: float = 5.0, create: bool = True) -> None:
        require(
            "path",
            path,
            isinstance(path, str | Path) and str(path) and "\0" not in str(path),
            'the path of a file, such as "sessions.db"',
        )
        require("timeout", timeout, is_number(timeout, 0), "a number of seconds, at least 0")
        if not create and not may_exist(Path(path)):
            raise StoreError(
                f"store {str(path)!r}",
                "no such file",
                "Pass the path of a file that holds sessions, or create it with "
                "ContextSession.open or polycontext session new",
            )
        self._file = SQLiteFile.shared(Path(path), timeout)
        self._closing = weakref.finalize(self, self._file.release)

    @property
    def _open(self) -> SQLiteFile:
        if not self._closing.alive:
            raise self._file.closed()
        return self._file

    # --- reading ---------------------------------------------------------------------

    def load(self, session_id: str, after: int = 0) -> Stored:
        """Return the events after revision `after`, and the companions."""
        with self._reading(session_id) as journal:
            return journal.load(after)

    aload = twin(load)

    def opened(self, session_id: str) -> Opened | None:
        """Return a session as its newest snapshot and the events since.

        Return None if there is no readable snapshot.
        """
        with self._reading(session_id) as journal:
            snapshot = journal.snapshot()
            if snapshot is None:
                return None
            pieces, head = snapshot
            stored = journal.load(pieces[-1][0])
        return Opened(pieces, head, stored, partial(self._turns_between, session_id))

    def search(self, session_id: str, query: str, limit: int) -> tuple[Found, ...]:
        """Return the turns of a session that match `query`, best first.

        New turns are indexed first, or in memory if the file cannot be written at once
        (docs/history.md).

        Raises:
            StoreError: the file could not be read; says what to do.
        """
        asked = AskedWords.of(query)
        with suppress(StoreError):
            while self._index_some(session_id):
                pass
        try:
            return self._search(session_id, asked, limit)
        except (KeyError, struct.error):
            # The index is derived, so a damaged one is made again from the texts.
            with suppress(StoreError), self._open.erasing() as db:
                db.execute(sql.DROP_INDEX, (SQLiteJournal.find(db, session_id).session,))
            return self._search(session_id, asked, limit, is_sound=False)

    def _index_some(self, session_id: str) -> bool:
        """Index some new turns, and return whether there are more; others can write in between."""
        with self._reading(session_id) as journal:
            if indexed(journal) not in range(journal.revision):
                return False
        with self._reading(session_id, writes=True) as journal:
            return update_index(journal)

    def _search(
        self, session_id: str, asked: AskedWords, limit: int, *, is_sound: bool = True
    ) -> tuple[Found, ...]:
        with self._reading(session_id) as journal:
            index = read_index(journal, indexed(journal) if is_sound else -1)
            return index.search(asked, limit, journal.turns_at)

    def committed(self, session_id: str, key: str) -> int | None:
        """Return the revision to which the command with that key led, None if there is none."""
        select = "SELECT max(revision) FROM commands WHERE session = ? AND key = ?"
        with self._reading(session_id) as journal:
            found: int | None
            (found,) = journal.db.execute(select, (journal.session, key)).fetchone()
            return found

    def list_sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions, in alphabetical order."""
        with self._reading("") as journal:
            return tuple(name for (name,) in journal.db.execute(sql.NAMES))

    def revision(self, session_id: str) -> int | None:
        """Return the number of events of a session, None if there is no such session."""
        with self._reading(session_id) as journal:
            return None if journal.session is None else journal.revision

    def version(self) -> Hashable:
        """Return a value that changes whenever another process has written."""
        with self._open.reading() as db:
            return *self._file.own, *db.execute("PRAGMA data_version").fetchone()

    # --- writing ---------------------------------------------------------------------

    def alone(self) -> AbstractContextManager[None]:
        """Keep all other threads and processes from writing during the block."""
        return self._open.alone()

    def append(
        self,
        session_id: str,
        base: int,
        events: Sequence[Event],
        companions: Mapping[str, str],
        *,
        key: str | None = None,
        snapshot: Snapshot | None = None,
    ) -> None:
        """Append `events` at revision `base`, with companions, key and snapshot, all or none.

        Once it returns, the data is durable. If a task is cancelled during `aappend`, it is not
        known whether the data was stored.

        Raises:
            ConflictError: the session is not at revision `base`.
            StoreError: nothing was stored; says what to do.
        """
        with self._open.transaction() as db:
            journal = SQLiteJournal.find(db, session_id)
            if journal.revision != base:
                raise ConflictError("session revision", base, journal.revision)
            if journal.session is None:
                journal = journal.begin(session_id, 0)
            to = base + len(events)
            journal.add_events(events)
            journal.add_companions(companions)
            if key is not None:
                db.execute("INSERT INTO commands VALUES (?, ?, ?)", (journal.session, key, to))
            if snapshot is not None:
                journal.add_snapshot(to, snapshot)

    aappend = twin(append)

    def fork(
        self, session_id: str, new_id: str, revision: int, companions: Mapping[str, str]
    ) -> None:
        """Create a session with the first `revision` events of another one, and these companions.

        Texts are shared; keys are not copied.

        Raises:
            ConflictError: the new id is taken, or the other session has fewer events.
        """
        with self._open.transaction() as db:
            journal, there = (SQLiteJournal.find(db, each) for each in (session_id, new_id))
            taken = None if there.session is None else there.revision
            check_fork(new_id, taken, revision, journal.revision)
            fork = there.begin(new_id, revision)
            fork.add_companions(companions)
            journal.copy_to(fork)

    def holders(self, session_id: str, resource_ids: Collection[str]) -> dict[str, set[str]]:
        """Return, by session, the ids of the turns that may be copies of these.

        A copy has the same time and role.
        """
        found: dict[str, set[str]] = {}
        with self._reading(session_id) as journal:
            sought = orjson.dumps([*resource_ids]).decode()
            for name, its_id in journal.db.execute(sql.HOLDERS, (journal.session, sought)):
                found.setdefault(name, set()).add(its_id)
        return found

    def rewrite(self, journals: Mapping[str, Rewritten]) -> None:
        """Rewrite the journals of several sessions, all or none.

        Afterwards the store's files contain nothing of what was replaced, now or before.

        Raises:
            ConflictError: a session does not have as many events as its `base` says.
        """
        if not journals:
            self._open.clean_rest()
            return
        with self._open.erasing() as db:
            for name, rewritten in journals.items():
                journal = SQLiteJournal.find(db, name)
                if journal.session is None or journal.revision != rewritten.base:
                    raise ConflictError("session revision", rewritten.base, journal.revision)
                journal.replace_events(rewritten.events)
                journal.add_events(rewritten.added)
                db.execute(sql.DROP_INDEX, (journal.session,))
                delete_rows(db, journal.session, "snapshots")

    def delete(self, session_id: str) -> bool:
        """Delete a session with all its data; return whether there was one.

        Afterwards the store's files contain nothing of its text.
        """
        if self.revision(session_id) is None:
            self._open.clean_rest()
            return False
        with self._open.erasing() as db:
            session = SQLiteJournal.find(db, session_id).session
            # Another thread may have been first.
            return db.execute(sql.DELETE_SESSION, (session,)).rowcount > 0

    def close(self) -> None:
        """Close the file if no other store of this process has it open."""
        self._closing()

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self._file.path)!r})"

    # --- inside ---------------------------------------------------------------------

    def _turns_between(self, session_id: str, first: int, last: int) -> tuple[Turn, ...]:
        with self._reading(session_id) as journal:
            return tuple(turn for _, turn in journal.turns_between(first, last))

    @contextmanager
    def _reading(self, session_id: str, *, writes: bool = False) -> Generator[SQLiteJournal]:
        """Yield a journal for reading; unreadable data raises the error for a damaged file.

        What is derived may be written, too, unless others are writing.
        """
        with self._open.transaction(timeout=0) if writes else self._open.reading() as db:
            try:
                yield SQLiteJournal.find(db, session_id)
            except (TypeError, ValueError, AttributeError, zlib.error) as error:
                problem = f"the file is damaged: {error}"
                raise StoreError(self._file.name, problem, sql.DAMAGED) from error
