"""A file of a store that is moved, removed or replaced while it is open: the next write says so."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreError
from tests.polynomial.conversations import WORDS, texts
from tests.polynomial.stores.files import opened

Change = Callable[[Path], object]


def remove(path: Path) -> None:
    """Remove the database alone."""
    path.unlink()


def remove_all(path: Path) -> None:
    """Remove the database and the files next to it."""
    for each in path.parent.glob("sessions.db*"):
        each.unlink()


def move(path: Path) -> None:
    """Move the database alone, so that its log stays."""
    path.rename(path.with_name("moved.db"))


def move_folder(path: Path) -> None:
    """Move the folder, and make a new one of its name."""
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.mkdir()


def replace(path: Path) -> None:
    """Put a copy in place of the database, as programs do that synchronise files."""
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def replace_by_another(path: Path) -> None:
    """Put another store in place of the database and its log."""
    with opened(path.with_name("other.db")) as session:
        session.add_user_turn("of another file")
    remove_all(path)
    path.with_name("other.db").rename(path)


CHANGES: list[Change] = [remove, remove_all, move, move_folder, replace, replace_by_another]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store may be, in a folder of its own."""
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder" / "sessions.db"


@pytest.mark.parametrize("change", CHANGES)
def test_the_next_write_is_refused_and_nothing_is_lost(path: Path, change: Change) -> None:
    """The error says what to do, the session is as it was, and it can be exported."""
    session = opened(path)
    session.add_user_turn("before")
    change(path)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"moved, removed or replaced .* history\.export\(\)"):
            session.add_user_turn("after")
    assert texts(session) == ["before"]
    exported = [*session.history.export()]
    assert texts(ContextSession.history.load(exported, counter=WORDS)) == ["before"]
    with opened(path) as another:
        another.add_user_turn("one")
        session.close()
        another.add_user_turn("two")
    with opened(path) as again:
        assert texts(again)[-2:] == ["one", "two"]


def test_a_file_that_is_put_back_is_written_again(path: Path) -> None:
    """A move that was a mistake costs nothing."""
    with opened(path) as session:
        session.add_user_turn("before")
        path.rename(path.with_name("moved.db"))
        with pytest.raises(StoreError):
            session.add_user_turn("after")
        path.with_name("moved.db").rename(path)
        session.add_user_turn("after")
    with opened(path) as session:
        assert texts(session) == ["before", "after"]


def test_a_write_asks_for_each_file_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four questions to the system: the database, the two files next to it, the log's size."""
    asked, stat = list[str](), os.stat

    def counted(file: str | Path) -> os.stat_result:
        asked.append(Path(file).name)
        return stat(file)

    with opened(path) as session:
        session.add_user_turn("before")
        monkeypatch.setattr("polycontext.polynomial.stores.sqlite_file.os.stat", counted)
        session.add_user_turn("after")
        monkeypatch.undo()
    log = "sessions.db-wal"
    assert sorted(asked) == ["sessions.db", "sessions.db-shm", log, log]
