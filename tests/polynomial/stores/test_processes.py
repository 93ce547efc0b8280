"""Several processes on one SQLite file: nothing is lost, doubled or refused, whoever writes."""

import ctypes
import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from textwrap import dedent
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreBusyError, StoreError
from polycontext.polynomial.stores import SharedStore, SQLiteStore, file_lock
from polycontext.polynomial.stores.file_lock import FileLock, MachineLock
from polycontext.polynomial.stores.sqlite_file import SQLiteFile
from polycontext.pressure import ConflictError, ContextProjector
from polycontext.window import Turn
from tests.faults.processes import forked
from tests.polynomial.stores import files
from tests.polynomial.stores.files import is_whole, raw

needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


opened = partial(files.opened, timeout=300)


def in_a_process(code: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start Python with some code, that can be talked to."""
    begin = """
        import os, sys
        from functools import partial
        from tests.polynomial.stores import files

        opened = partial(files.opened, sys.argv[1], timeout=300)
    """
    command = [sys.executable, "-c", dedent(begin) + dedent(code), *map(str, arguments)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )


def said_by(code: str, *arguments: object) -> str:
    """Return what a process with some code prints until it ends well."""
    process = in_a_process(code, *arguments)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return said


def texts(path: Path, session_id: str = "s") -> list[str]:
    """Return what the log of a session says, of a file that is whole."""
    with opened(path, session_id) as session:
        said = [turn.text for turn in session.log()]
        numbers = [turn.resource_id for turn in session.log()]
        assert numbers == [f"t{number}" for number in range(1, len(said) + 1)]
    assert is_whole(path)
    return said


# --- writers ------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions", [1, 3])
def test_processes_write_one_file(sessions: int, path: Path) -> None:
    """Three processes write one session or their own: all is there once, in the order of each."""
    code = """
        with opened(sys.argv[2]) as session:
            for number in range(30):
                session.add_user_turn(f"{sys.argv[3]}/{number}")
    """
    names = [f"s{writer % sessions}" for writer in range(3)]
    writers = [in_a_process(code, path, name, writer) for writer, name in enumerate(names)]
    assert [writer.communicate(timeout=300)[0] for writer in writers] == ["", "", ""]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    said = [text for name in sorted(set(names)) for text in texts(path, name)]
    assert len(said) == 90
    for writer in range(3):
        own = [text for text in said if text.startswith(f"{writer}/")]
        assert own == [f"{writer}/{number}" for number in range(30)]


@needs_forks
def test_a_key_is_taken_once_by_all_processes(path: Path) -> None:
    """Commands with the same keys happen once, however many processes run them at once."""

    def write() -> None:
        with opened(path) as session:
            for number in range(30):
                session.add_user_turn(f"turn {number}", idempotency_key=f"key {number}")

    children = [forked(write) for _ in range(3)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert texts(path) == [f"turn {number}" for number in range(30)]


WRITES = """
    with opened() as session:
        print("open", flush=True)
        number = 0
        while True:
            session.add_user_turn(f"busy {number}")
            number += 1
"""


@pytest.fixture
def busy(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Let another process write the session without a pause."""
    process = in_a_process(WRITES, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    yield process
    process.kill()
    process.communicate(timeout=300)


def test_a_slow_writer_is_late_once(path: Path, busy: "subprocess.Popen[str]") -> None:
    """A decision that takes many times as long as another process's write is made twice at most."""
    decided = Counter[str]()

    def classify(_role: object, content: str | None, _metadata: object) -> ResourceClass:
        decided[content or ""] += 1
        if "slow" in (content or ""):
            sleep(0.05)
        return ResourceClass.REQUIRED

    with opened(path, classifier=classify) as session:
        said = list[str]()
        while len(said) < 10 or not any("busy" in turn.text for turn in session.log()):
            said.append(f"slow {len(said)}")
            session.add_user_turn(said[-1])
            session.history.refresh()
        assert max(decided[text] for text in said) <= 2


def test_nobody_waits_while_a_late_writer_asks_a_model(
    path: Path, busy: "subprocess.Popen[str]"
) -> None:
    """The store is not kept during a summary by a model: the other process goes on writing."""
    moved = list[bool]()

    def model(_turns: object, _room: int) -> str:
        store = SQLiteStore(path)
        before, until = store.revision("s") or 0, monotonic() + 300
        while not moved and monotonic() < until:
            moved.extend([True] * ((store.revision("s") or 0) > before + 2))
        store.close()
        busy.kill()
        return "They talked."

    with opened(path, projector=ContextProjector(summariser=model)) as session:
        session.extend([Turn("user", f"turn {number} " + "so " * 40) for number in range(30)])
        session.compress(0.05)
    assert moved


@needs_forks
def test_a_turn_is_forgotten_beside_writers(path: Path, busy: "subprocess.Popen[str]") -> None:
    """Forgetting, retaining and searching succeed while another process writes without a pause."""
    with opened(path) as session:
        session.add_user_turn("the secret is Quittengelee")
        (own,) = (turn for turn in session.log() if "secret" in turn.text)
        assert session.history.search("Quittengelee")[0].resource_id == own.resource_id
        assert session.history.forget(own.resource_id)
        assert session.history.search("Quittengelee") == ()
        assert session.history.retain(max_bytes=10**6) == 0
    busy.kill()
    busy.wait(60)
    with opened(path) as session:
        session.add_user_turn("on")
    assert b"Quittengelee" not in raw(path)
    assert texts(path)[-1] == "on"


def test_a_companion_that_another_writer_saved_is_not_overwritten_unseen(path: Path) -> None:
    """Saving companions alone raises if another session saved the same one; then it can be merged.

    Companions of other names are kept, and turns are never refused for a companion.
    """

    class Notes:
        def __init__(self, *notes: str) -> None:
            self.notes = list(notes)

        def to_data(self) -> dict[str, list[str]]:
            return {"notes": self.notes}

    with opened(path) as one, opened(path) as other:
        mine = Notes("mine")
        one.documents.accompany("notes", Notes("first"))
        other.documents.accompany("notes", mine)
        other.documents.accompany("more", Notes("too"))
        one.documents.save()
        with pytest.raises(ConflictError, match=r"companion 'notes': .* Merge it with"):
            other.documents.save()
        assert other.documents.get("notes") == {"notes": ["first"]}
        mine.notes.insert(0, "first")
        other.documents.save()
        one.history.refresh()
        assert one.documents.get("notes") == {"notes": ["first", "mine"]}
        assert one.documents.get("more") == {"notes": ["too"]}
    store = SQLiteStore(path)
    with pytest.raises(ConflictError):
        store.append("s", 1, [], {"notes": "[]"})
    store.close()


def test_what_another_process_wrote_is_seen(path: Path) -> None:
    """`version` changes with the writes of others alone; a revision is None without a session."""
    store = SQLiteStore(path)
    assert isinstance(store, SharedStore)
    assert store.revision("s") is None
    before = store.version()
    store.append("other", 0, [], {"notes": "{}"})
    assert store.version() == before
    said_by("with opened() as session: session.add_user_turn('one')", path)
    assert store.version() != before
    assert store.revision("s") == 1
    store.close()


# --- the lock -----------------------------------------------------------------------------


def test_who_waits_too_long_is_told(path: Path) -> None:
    """A writer waits until its timeout; opening waits for nobody."""
    with opened(path, timeout=0.2) as session:
        lock = FileLock(path.with_name("sessions.db.lock"))
        assert lock.acquire(0)
        with pytest.raises(StoreBusyError) as refused:
            session.add_user_turn("one")
        assert str(refused.value) == (
            f"store '{path}': others wrote to it for more than the 0.2 seconds waited. Try again, "
            "or raise the timeout."
        )
        assert isinstance(refused.value, TimeoutError)
        assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)  # noqa: S301 - ours
        code = """
            from polycontext.polynomial.errors import StoreBusyError
            try:
                opened(timeout=0).add_user_turn("one")
            except StoreBusyError:
                print("busy")
        """
        assert said_by(code, path) == "busy\n"
        lock.release()
        session.add_user_turn("two")
    assert texts(path) == ["two"]


def test_who_gave_up_does_not_keep_the_lock(path: Path) -> None:
    """A lock that is given after its waiter gave up is released at once."""
    first, second, third = (FileLock(path) for _ in range(3))
    assert first.acquire(0)
    assert not second.acquire(0.05)
    second.release()
    first.release()
    assert third.acquire(300)
    third.release()


def written(path: Path) -> None:
    """Write a turn."""
    with opened(path, timeout=60) as session:
        session.add_user_turn("two")


def test_a_process_that_was_killed_holds_nothing(path: Path) -> None:
    """The lock is the system's: it goes with the process, however that ends."""
    code = """
        with opened() as session, session._writer.store.alone():
            session.add_user_turn("one")
            print("held", flush=True)
            sys.stdin.readline()
    """
    process = in_a_process(code, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(written, path)
        sleep(0.1)
        assert not waiting.done()
        process.send_signal(signal.SIGKILL)
        waiting.result(300)
    assert texts(path) == ["one", "two"]
    process.communicate(timeout=300)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Stand in for Windows' functions by those of this system; return the calls."""
    fcntl = pytest.importorskip("fcntl")
    calls = list[tuple[str, int]]()
    failed = 0

    class Kernel:
        def LockFileEx(self, file: Any, flags: int, *rest: Any) -> int:  # noqa: N802 - its name
            nonlocal failed
            calls.append(("lock", flags))
            kind = fcntl.LOCK_EX if flags & 2 else fcntl.LOCK_SH
            assert rest[:3] == (0, 1, 0)
            assert bytes(rest[3])[16:24] == (1 << 30).to_bytes(8, "little")
            try:
                fcntl.flock(file.value, kind | fcntl.LOCK_NB if flags & 1 else kind)
            except BlockingIOError:
                failed = 33
                return 0
            except OSError:
                failed = 6
                return 0
            return 1

        def UnlockFileEx(self, file: Any, *rest: Any) -> int:  # noqa: N802 - its name
            calls.append(("unlock", 0))
            assert rest[:3] == (0, 1, 0)
            fcntl.flock(file.value, fcntl.LOCK_UN)
            return 1

    class Runtime:
        @staticmethod
        def get_osfhandle(handle: int) -> int:
            return handle

    monkeypatch.setattr(file_lock, "POSIX", False)
    monkeypatch.setitem(sys.modules, "msvcrt", Runtime)
    monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: Kernel(), raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: failed, raising=False)
    monkeypatch.setattr(ctypes, "WinError", lambda code: OSError(code, "invalid"), raising=False)
    return calls


def test_windows_lets_in_those_that_wait(path: Path, windows: list[tuple[str, int]]) -> None:
    """`LockFileEx` is asked without waiting, again and again until the file is free."""
    first, second = FileLock(path), FileLock(path)
    assert first.acquire(0)
    assert windows == [("lock", 3), ("lock", 3), ("unlock", 0)]
    assert not second.acquire(0)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(second.acquire, 30)
        sleep(0.05)
        first.release()
        assert waiting.result(300)
    second.release()
    assert set(windows) == {("lock", 3), ("unlock", 0)}
    with opened(path.with_name("other.db")) as session:
        session.add_user_turn("one")
    with pytest.raises(OSError, match="invalid"):
        file_lock._lock(10_000)


# --- other machines -----------------------------------------------------------------------


def test_another_machine_is_refused_by_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a network file system, a file serves one machine until all its processes have closed it.

    Containers of one system have several names, and are one machine.
    """
    place = path.with_name("sessions.db.machine")
    with monkeypatch.context() as patched:
        patched.setattr(file_lock, "this_machine", lambda: ("alpha beta", "boot-1"))
        there = MachineLock(place)
        assert there.other == ""
    with pytest.raises(
        StoreBusyError, match=r"machine alpha beta has it open, .*. Close it there, or"
    ):
        opened(path)
    there.release()
    with opened(path) as session:
        session.add_user_turn("one")
        name, system = file_lock.this_machine()
        with monkeypatch.context() as patched:
            patched.setattr(file_lock, "this_machine", lambda: ("container", system))
            second = MachineLock(place)
            assert second.other == ""
            second.release()
            patched.setattr(file_lock, "this_machine", lambda: ("alpha", "boot-2"))
            assert MachineLock(place).other == name
    monkeypatch.setattr(Path, "read_text", _unreadable)
    assert len(set(file_lock.this_machine())) == 1


def _unreadable(*_: object) -> str:
    raise FileNotFoundError


# --- forks --------------------------------------------------------------------------------


@needs_forks
@pytest.mark.parametrize("again", [False, True], ids=["inherited", "opened"])
def test_a_forked_child_goes_on_beside_its_parent(path: Path, *, again: bool) -> None:
    """A child writes through the session it inherited or opens its own; nothing is lost."""
    session = opened(path)
    session.add_user_turn("first")

    def write() -> None:
        own = opened(path) if again else session
        for number in range(30):
            own.add_user_turn(f"child {number}")
        own.close()

    child = forked(write)
    for number in range(10):
        session.add_user_turn(f"parent {number}")
    session.close()
    assert os.waitpid(child, 0)[1] == 0
    assert Counter(texts(path)) == Counter(
        ["first", *(f"child {n}" for n in range(30)), *(f"parent {n}" for n in range(10))]
    )


@needs_forks
def test_an_interrupt_before_a_fork_locks_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was held is released, and nothing else is."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    swallowed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", swallowed.append)
    with opened(path) as session, opened(path.with_name("more.db")) as more:
        session.add_user_turn("before")
        more.add_user_turn("elsewhere")
        with monkeypatch.context() as patch:
            patch.setattr(SQLiteFile, "_disconnect", interrupted)
            assert os.waitpid(forked(lambda: None), 0)[1] == 0
        writer = Thread(target=opened(path, "other").add_user_turn, args=("after",), daemon=True)
        writer.start()
        writer.join(120)
        session.add_user_turn("after")
    assert len(swallowed) == 1
    assert (texts(path), texts(path, "other")) == (["before", "after"], ["after"])


@needs_forks
def test_a_child_leaves_the_lock_of_its_parent_alone(path: Path) -> None:
    """A child that is forked while its parent keeps others from writing does not let them in."""
    with opened(path) as session:
        session.add_user_turn("one")
        store = session._writer.store
        assert isinstance(store, SQLiteStore)
        child = None
        with suppress(KeyError), store.alone():
            child = os.fork()
            if child == 0:
                raise KeyError
            assert os.waitpid(child, 0)[1] == 0
            other = FileLock(path.with_name("sessions.db.lock"))
            assert not other.acquire(0)
            other.release()
            session.add_user_turn("two")
        if child == 0:
            os._exit(0)
    assert texts(path) == ["one", "two"]


# --- reading the file in the same process ------------------------------------------------


@pytest.mark.parametrize("dies", [False, True], ids=["closed", "killed"])
def test_reading_the_file_loses_nothing(path: Path, *, dies: bool) -> None:
    """A process that reads the file itself, as a backup does, drops SQLite's locks on it.

    What it writes after another process has closed the file is kept, and so is what a third one
    wrote that was killed before it could move it into the database.
    """
    code = """
        session = opened()
        session.add_user_turn(sys.argv[2])
        session.close() if sys.argv[3] == "close" else os._exit(0)
    """
    with opened(path) as session:
        session.add_user_turn("first")
        for file in path.parent.iterdir():
            file.read_bytes()
        said_by(code, path, "other", "close")
        if dies:
            said_by(code, path, "killed", "die")
        for number in range(20):
            session.add_user_turn(f"{number}")
        session.history.refresh()
    expected = ["first", "other", *(["killed"] if dies else []), *map(str, range(20))]
    assert texts(path) == expected


# --- the log of SQLite ---------------------------------------------------------------------


def test_the_log_stays_short(path: Path) -> None:
    """The write-ahead log is moved into the database when it is long, and is cut then."""
    store = SQLiteStore(path)
    sizes = []
    for number in range(60):
        store.append("s", 0, [], {"notes": json.dumps(f"{number}" * 150_000)})
        sizes.append(path.with_name("sessions.db-wal").stat().st_size)
    assert max(sizes) < 5_000_000
    assert path.stat().st_size > 100_000
    store.close()


def test_a_checkpoint_that_fails_undoes_nothing(path: Path) -> None:
    """What was committed is not reported as failed because it could not be moved yet."""
    store = SQLiteStore(path)
    other = sqlite3.connect(path)
    other.execute("BEGIN")
    other.execute("SELECT * FROM sessions").fetchall()
    for _ in range(30):
        store.append("s", 0, [], {"notes": json.dumps("plum" * 50_000)})
    other.close()
    store.append("s", 0, [], {"notes": '"on"'})
    assert store.load("s").companions == {"notes": '"on"'}
    store.close()


@pytest.mark.parametrize("erases", ["forget", "delete"])
@pytest.mark.parametrize("then", ["again", "opens"])
def test_a_reader_that_keeps_old_words_is_told_of(path: Path, erases: str, then: str) -> None:
    """Until copies are gone, erasing again reports them; it cleans the files, as opening does."""
    store = SQLiteStore(path, timeout=0.1)

    def erase() -> bool:
        history = session.history
        return store.delete("s") if erases == "delete" else history.forget("t1")

    with ContextSession.open(store, "s", max_tokens=8_000) as session:
        session.add_user_turn("the secret is Quittengelee")
        other = sqlite3.connect(path)
        other.execute("BEGIN")
        other.execute("SELECT * FROM sessions").fetchall()
        for _ in range(2):
            with pytest.raises(StoreError, match=r"may still hold copies.*open the file again"):
                erase()
        other.close()
        if then == "again":
            assert not erase()
            assert b"Quittengelee" not in raw(path)
    store.close()
    with closing(SQLiteStore(path)):
        assert b"Quittengelee" not in raw(path)
