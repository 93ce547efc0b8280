"""A store that cannot be written, now or at all, is read; a lock that others hold costs nothing."""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from polycontext.polynomial.errors import StoreBusyError, StoreError
from polycontext.polynomial.stores import SQLiteStore
from polycontext.polynomial.stores.file_lock import FileLock
from tests.faults.processes import forked
from tests.polynomial.stores.files import opened

HANDLES = Path("/proc/self/fd")
NOBODY = 65_534
is_root = hasattr(os, "getuid") and os.getuid() == 0
needs_users = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks and file modes")


def filled(path: Path) -> None:
    """Store a session of twenty turns, of which half are indexed."""
    with opened(path) as session:
        for number in range(20):
            session.add_user_turn(f"plum {number}")
            if number == 9:
                session.history.search("plum")


def is_read(path: Path) -> bool:
    """Return whether a session is opened, read, searched and exported, and whole."""
    with opened(path) as session:
        found = [len(session.history.search("plum", 50)) for _ in range(2)]
        read = len(session.log()), len(session.messages()), len([*session.history.export()])
        store = session._writer.store
        return (found, *read, store.list_sessions()) == ([20, 20], 20, 20, 21, ("s",))


def is_refused(path: Path, match: str) -> None:
    """Check that a write raises, says what to do, and changes nothing."""
    with opened(path) as session:
        with pytest.raises(StoreError, match=match) as refused:
            session.add_user_turn("more")
        assert refused.value.legal
        assert len(session.log()) == 20
        assert len(session.history.search("plum", 50)) == 20


# --- a lock that others hold --------------------------------------------------------------


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """Return a store whose lock somebody holds."""
    path = tmp_path / "sessions.db"
    filled(path)
    lock = FileLock(path.with_name("sessions.db.lock"))
    assert lock.acquire(0)
    yield path
    lock.release()


def test_reading_needs_no_lock(held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session is opened, read and searched while somebody writes; a search waits for nobody."""
    waits, acquire = list[float](), FileLock.acquire

    def waited(self: FileLock, timeout: float) -> bool:
        waits.append(timeout)
        return acquire(self, 0)

    monkeypatch.setattr(FileLock, "acquire", waited)
    with opened(held) as session:
        assert len(session.history.search("plum", 50)) == 20
        assert max(waits) <= 0
        store = session._writer.store
        store._file._disconnect()  # type: ignore[attr-defined]
        assert len(store.load("s").events) == 20
    assert is_read(held)


def test_a_damaged_index_is_left_out_while_somebody_writes(held: Path) -> None:
    """A search finds all turns, and later ones do once the index is made again."""
    store = SQLiteStore(held, timeout=0)
    with store._file.reading() as db:
        assert db.execute("SELECT count(*) FROM words").fetchone()[0] > 0
    lock = store._file.turn
    with store._file.using:
        db.execute("DELETE FROM words WHERE term = ''")
    for _ in range(2):
        assert len(store.search("s", "plum", 50)) == 20
    assert not lock.locked()
    store.close()


@pytest.mark.skipif(not HANDLES.is_dir(), reason="needs a list of open files")
def test_writers_that_gave_up_leave_nothing_behind(held: Path) -> None:
    """400 appends that time out leave no thread and no open file, and disturb nobody later."""
    with opened(held, timeout=0.001) as session, ThreadPoolExecutor(8) as pool:
        store = session._writer.store

        def append(number: int) -> None:
            with pytest.raises(StoreBusyError):
                store.append(f"other {number}", 0, (), {"notes": "{}"})

        others, files = threading.active_count(), len([*HANDLES.iterdir()])
        list(pool.map(append, range(400)))
        assert threading.active_count() <= others + 8
        assert len([*HANDLES.iterdir()]) == files


# --- a folder, file or disk that cannot be written ----------------------------------------


def as_somebody(act: Callable[[], object]) -> int:
    """Do something as a user without rights, in a forked process; return how it ended."""

    def somebody() -> None:
        if is_root:
            os.setuid(NOBODY)
        act()

    return os.waitpid(forked(somebody), 0)[1]


@pytest.fixture
def place() -> Iterator[Path]:
    """Return where a store may be, in folders that every user may read."""
    with TemporaryDirectory(prefix="polycontext-") as folder:
        Path(folder).chmod(0o755)
        inside = Path(folder) / "inside"
        inside.mkdir()
        yield inside / "sessions.db"
        inside.chmod(0o755)


@needs_users
@pytest.mark.parametrize(
    ("file", "folder", "beside"),
    [
        (0o444, 0o777, True),
        (0o444, 0o555, True),
        (0o666, 0o555, True),
        (0o444, 0o555, False),
        (0o666, 0o555, False),
    ],
)
def test_what_cannot_be_written_is_read(
    place: Path, file: int, folder: int, *, beside: bool
) -> None:
    """In a read-only folder or file, with the locks beside it or without them."""
    filled(place)
    for lock in place.parent.glob("*.db.*"):
        lock.chmod(0o666) if beside else lock.unlink()
    place.chmod(file)
    place.parent.chmod(folder)
    before = place.read_bytes()
    assert as_somebody(lambda: is_refused(place, "read-only|not written|cannot be written")) == 0

    def read() -> None:
        assert is_read(place)

    assert as_somebody(read) == 0
    assert place.read_bytes() == before


@needs_users
def test_a_log_that_cannot_be_read_is_not_left_out(place: Path) -> None:
    """If the newest writes are in a log that SQLite cannot read there, nothing older is shown."""
    with opened(place) as session:
        session.add_user_turn("plum")
        copy = place.with_name("copy.db")
        for ending_ in ("", "-wal"):
            shutil.copy(f"{place}{ending_}", f"{copy}{ending_}")
    for each in place.parent.iterdir():
        each.chmod(0o444)
    place.parent.chmod(0o555)

    def refused() -> None:
        with pytest.raises(StoreError, match="cannot be"):
            opened(copy)

    assert as_somebody(refused) == 0


@contextmanager
def small_disk(folder: Path) -> Generator[Path]:
    """Mount a disk of one megabyte."""
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=1m", "none", str(folder)],
        capture_output=True,
        check=False,
    )
    if not made or made.returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run([str(shutil.which("umount")), str(folder)], check=True)


@pytest.mark.parametrize("is_open", [False, True])
def test_a_store_on_a_full_disk_is_read(tmp_path: Path, *, is_open: bool) -> None:
    """Opened before the disk was full or afterwards; once there is room, it is written again."""
    with small_disk(tmp_path) as folder:
        path = folder / "sessions.db"
        filled(path)
        session = opened(path) if is_open else None
        with (folder / "rest").open("wb", buffering=0) as rest, suppress(OSError):
            while True:
                rest.write(bytes(4_096))
        assert is_read(path)
        is_refused(path, "Make room")
        with opened(path) as again:
            (folder / "rest").unlink()
            again.add_user_turn("plum 20")
            assert len(again.history.search("plum", 50)) == 21
        if session is not None:
            session.close()
