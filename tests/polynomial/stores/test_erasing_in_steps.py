"""Erasing in a SQLite file: no byte is left, and others write between two steps."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import frozen

from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import (
    SQLiteStore,
    sqlite_deletion,
    sqlite_file,
    sqlite_pages,
    sqlite_schema,
)
from polycontext.polynomial.stores.file_lock import FileLock
from polycontext.pressure import ConflictError
from tests.polynomial.conversations import texts
from tests.polynomial.stores.files import change, is_whole, opened, raw

STEP = 65_536


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Let functions run between two short steps."""
    acts = list[Callable[[], None]]()
    monkeypatch.setattr(sqlite_pages, "STEP", STEP)
    monkeypatch.setattr(sqlite_deletion, "_MOST_BYTES", STEP)
    monkeypatch.setattr(sqlite_file, "sleep", lambda _: [act() for act in acts])
    return acts


@frozen
class Notes:
    """Stand for what is saved with a session."""

    words: str

    def to_data(self) -> dict[str, str]:
        """Return the words."""
        return {"words": self.words}


def filled(path: Path, marked: str, seed: int) -> None:
    """Fill a file with two sessions in turn, searched so often that rows of the index move."""
    random = Random(seed)  # noqa: S311 - no secret
    with opened(path, "stays") as stays, opened(path, "goes") as goes:
        goes.documents.accompany("notes", Notes(marked))
        for number in range(60):
            for session, word in (stays, "word"), (goes, marked):
                said = " ".join(f"{word}w{random.randrange(9_000)}" for _ in range(number))
                key = f"{word} {number}"
                session.add_user_turn(f"{word}{number}x {said}", idempotency_key=key)
                if number % 5 == 0:
                    session.history.search("nothing")


@pytest.mark.parametrize("seed", range(2))
def test_no_byte_is_left_whatever_others_write_meanwhile(
    path: Path, between: list[Callable[[], None]], seed: int
) -> None:
    """They write through connections that remember pages with copies of what is erased."""
    filled(path, "quittengelee", seed)
    with opened(path, "goes") as goes, opened(path, "others", timeout=0) as others:
        chosen = [turn for turn in goes.log() if "quittengelee" in turn.text]
        written = list[str]()

        def write() -> None:
            others.add_user_turn(f"written {len(written)}")
            others.history.search("written")
            written.append(others.log()[-1].text)

        between.append(write)
        for turn in chosen[::9]:
            assert goes.history.forget(turn.resource_id)
        left = raw(path)
        assert not [t.text for t in chosen[::9] if t.text.split()[0].encode() in left]
        assert chosen[1].text.encode() in left
        assert len(written) > len(chosen[::9]) * path.stat().st_size / STEP
        assert ContextSession.history.delete(path, "goes")
        assert b"quittengelee" not in raw(path)
        assert texts(others) == written
    assert b"quittengelee" not in raw(path)
    assert is_whole(path)
    with opened(path, "stays") as stays:
        assert len(stays.log()) == 60
        assert len(stays.history.search("word1x word2x word3x")) > 0


def change_words(store: SQLiteStore, random: Random, marked: tuple[str, ...], rows: int) -> None:
    """Insert and delete rows of the index, so that SQLite moves others between pages."""
    with store._file.transaction() as db:
        for _ in range(rows):
            term = f"{random.randrange(10**6)}{random.choice(marked)}"
            row = term, bytes(random.randrange(900))
            db.execute("INSERT OR REPLACE INTO words VALUES (1, ?, 0, ?)", row)
        first = random.randrange(10**6)
        between = str(first), str(first + 20_000)
        db.execute("DELETE FROM words WHERE term BETWEEN ? AND ?", between)


DELETE_MARKED = "DELETE FROM words WHERE term LIKE '%quittengelee'"


def test_no_copy_moves_to_where_the_cleaning_has_been(
    path: Path, between: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite moves pages with their gaps when it splits others and numbers them anew."""
    monkeypatch.setattr(sqlite_pages, "STEP", 20 * 4_096)
    store, random = SQLiteStore(path), Random(48)  # noqa: S311 - no secret
    for _ in range(30):
        change_words(store, random, ("word", "quittengelee"), 40)
    between.extend([lambda: change_words(store, random, ("word",), 30)] * 2)
    with store._file.erasing() as db:
        db.execute(DELETE_MARKED)
    assert b"quittengelee" not in raw(path)
    store.close()
    assert is_whole(path)


def test_the_cleaning_begins_again_if_others_moved_the_log(
    path: Path, between: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which pages were in it cannot be known any more."""
    filled(path, "quittengelee", 8)
    passes = list[int]()

    def counted(mark: int, log: Path) -> sqlite_pages.Wiping:
        passes.append(mark)
        return sqlite_pages.Wiping(mark, log)

    monkeypatch.setattr(sqlite_file, "Wiping", counted)
    with opened(path, "goes") as goes, opened(path, "stays") as stays:

        def write() -> None:
            with monkeypatch.context() as patch:
                patch.setattr(sqlite_file, "_LONG", 0 if len(passes) == 1 else 10**9)
                stays.add_user_turn("long")

        between.append(write)
        assert goes.history.forget("t1")
        assert len(passes) == 2
        assert passes[0] != passes[1]
        assert b"quittengelee0x" not in raw(path)


def test_no_connection_writes_a_copy_back_that_it_remembers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that read a page just before it was overwritten reads it again before it writes."""
    store, random = SQLiteStore(path), Random(1)  # noqa: S311 - no secret
    for _ in range(30):
        change_words(store, random, ("word", "quittengelee"), 40)
    other, wipe = sqlite3.connect(path, isolation_level=None), sqlite_pages._wipe_gap
    other.execute("PRAGMA secure_delete = ON")
    seen = list[int]()

    def read_first(*place: Any) -> None:
        if not seen:
            seen.extend(other.execute("SELECT sum(length(postings)) FROM words").fetchone())
        wipe(*place)

    monkeypatch.setattr(sqlite_pages, "_wipe_gap", read_first)
    with store._file.erasing() as db:
        db.execute(DELETE_MARKED)
    assert seen
    assert b"quittengelee" not in raw(path)
    other.execute("UPDATE words SET postings = x'' WHERE term LIKE '%7word'")
    assert b"quittengelee" not in raw(path)
    other.close()
    store.close()
    assert is_whole(path)


@pytest.mark.parametrize("pause", [1, 3])
def test_two_clean_one_file(path: Path, between: list[Callable[[], None]], pause: int) -> None:
    """What one erases while the other deletes or cleans is gone when either of them returns."""
    filled(path, "quittengelee", 7)
    erased, pauses = list[bool](), list[int]()
    with opened(path, "goes") as goes, opened(path, "stays") as stays:

        def erase() -> None:
            pauses.append(1)
            if len(pauses) == pause:
                erased.append(stays.history.forget("t9"))
                assert b"word8x " not in raw(path)

        between.append(erase)
        assert goes.history.forget("t1")
        assert erased == [True]
        assert b"quittengelee0x" not in raw(path)
    assert is_whole(path)
    db = sqlite3.connect(path)
    assert sqlite_schema.newest_mark(db) is None
    db.close()


def test_a_damaged_page_is_left_as_it_is() -> None:
    """Where rows are said to be in the gap, nothing is overwritten; other pages have no gap."""
    page = bytes([13, 0, 0, 0, 2, 15, 0, 0, 9, 0, 15, 9]) + bytes(4_096 - 12)
    assert sqlite_pages.gap_of(page) == (0, 0)
    for first in (0, 1, 3, 7, 255):
        assert sqlite_pages.gap_of(bytes([first]) + page[1:]) == (0, 0)
    assert sqlite_pages.gap_of(bytes([13, 0, 0, 255, 255, 15, 0, 0]) + page[8:]) == (0, 0)
    assert sqlite_pages.gap_of(bytes([10, 0, 0, 0, 0, 0, 0, 0]) + bytes(65_528)) == (8, 65_536)


def test_the_file_is_never_kept_from_others_for_long(
    path: Path, between: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No step reads or writes more than its limit, whatever the size of the file."""
    filled(path, "quittengelee", 3)
    sizes = list[int]()
    wipe, acquire = sqlite_pages.gap_of, FileLock.acquire

    def counted(page: bytes, head: int = 0) -> tuple[int, int]:
        sizes[-1] += len(page)
        return wipe(page, head)

    def locked(self: FileLock, timeout: float) -> bool:
        sizes.append(0)
        return acquire(self, timeout)

    monkeypatch.setattr(sqlite_pages, "gap_of", counted)
    monkeypatch.setattr(FileLock, "acquire", locked)
    with opened(path, "goes") as goes:
        assert goes.history.forget("t1")
        assert 0 < max(sizes) <= STEP
        assert sum(sizes) >= path.stat().st_size - STEP
        logs = list[int]()
        between.append(lambda: logs.append(path.with_name("sessions.db-wal").stat().st_size))
    ContextSession.history.delete(path, "goes")
    assert max(logs) < 20 * STEP


def test_a_deleted_session_is_gone_before_its_rows_are(
    path: Path, between: list[Callable[[], None]]
) -> None:
    """Nobody lists, loads or finds it meanwhile, and its name can be used again."""
    filled(path, "quittengelee", 4)
    store, gone, seen = SQLiteStore(path), opened(path, "goes"), list[object]()

    def look() -> None:
        seen.append((store.list_sessions(), len(store.load("goes").events)))
        store.search("goes", "quittengelee0x", 3)

    between.append(look)
    assert store.delete("goes")
    assert set(seen) == {(("stays",), 0)}
    assert not store.delete("goes")
    with pytest.raises(ConflictError, match=r"expected [0-9]+, found 0"):
        gone.add_user_turn("still there?")
    with opened(path, "goes") as again:
        again.add_user_turn("anew")
        assert len(again.log()) == 1
    gone.close()
    store.close()


def test_what_a_killed_process_left_is_deleted_by_the_next_that_opens_the_file(
    path: Path, between: list[Callable[[], None]]
) -> None:
    """A process that ends between two steps leaves nothing for long."""

    def killed() -> None:
        raise KeyboardInterrupt

    filled(path, "quittengelee", 5)
    store = SQLiteStore(path)
    between.append(killed)
    with pytest.raises(KeyboardInterrupt):
        store.delete("goes")
    between.clear()
    store.close()
    assert b"quittengelee" in raw(path)
    with opened(path, "stays") as stays:
        assert b"quittengelee" not in raw(path)
        assert len(stays.log()) == 60
    assert is_whole(path)


def test_a_file_with_vacuuming_of_its_own_is_cleaned(path: Path) -> None:
    """Its pages cannot be told apart, so it is written anew once."""
    change(path, "PRAGMA auto_vacuum = FULL; VACUUM")
    filled(path, "quittengelee", 6)
    with opened(path, "goes") as goes:
        assert goes.history.forget("t1")
        assert b"quittengelee0x" not in raw(path)
    assert is_whole(path)
