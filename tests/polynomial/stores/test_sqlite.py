"""The store in a SQLite file.

It is durable, and errors are clear; `test_processes` has several processes on one file.
"""

import gc
import os
import re
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import pytest

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import StoreError
from polycontext.polynomial.journal.events import CompressEvent
from polycontext.polynomial.stores import (
    Snapshot,
    SQLiteStore,
)
from polycontext.polynomial.stores.sqlite_pages import Wiping
from polycontext.polynomial.stores.sqlite_schema import SCHEMA
from polycontext.pressure import ConflictError
from polycontext.testing.store_lives import lived_events
from polycontext.window import ContextItem, Turn
from tests.polynomial.conversations import WORDS, texts
from tests.polynomial.stores import files
from tests.polynomial.stores.files import change, raw
from tests.polynomial.stores.test_processes import said_by

opened = partial(files.opened, max_tokens=1000)


def snapshots_of(session: ContextSession) -> tuple[list[int], int]:
    """Return the revisions of the snapshots that a store has, and the events behind them."""
    store = session._writer.store
    assert isinstance(store, SQLiteStore)
    found = store.opened("s")
    assert found is not None
    return [revision for revision, _ in found.pieces], len(found.stored.events)


# --- one connection of a process -------------------------------------------------------


def test_sessions_of_one_process_share_the_file(path: Path) -> None:
    """Any number of sessions and stores can be open; the last one that closes lets the file go."""
    first, second = (
        opened(path),
        opened(path.parent / "." / path.name, "other"),
    )
    first.add_user_turn("one")
    second.add_user_turn("two")
    first.close()
    first.close()
    second.add_user_turn("three")
    with pytest.raises(StoreError, match=r"it was closed. Open it again"):
        first.add_user_turn("four")
    assert texts(first) == ["one"]
    second.close()
    assert ContextSession.history.list_sessions(path) == ("other", "s")
    assert not path.with_name("sessions.db-wal").exists()


def test_a_session_that_nobody_closed_lets_go_when_it_is_gone(path: Path) -> None:
    """A store closes itself when it is collected: nothing is left beside the file."""
    session = opened(path)
    session.add_user_turn("one")
    del session
    gc.collect()
    assert not path.with_name("sessions.db-wal").exists()
    code = "print(opened(timeout=0)._writer.store.list_sessions())"
    assert said_by(code, path) == "('s',)\n"


# --- what cannot be opened ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda path: change(path, f"PRAGMA user_version = {SCHEMA + 1}"),
            rf"by another polycontext \(schema {SCHEMA + 1}; this one reads {SCHEMA}\). Open it",
        ),
        (
            lambda path: change(path, "CREATE TABLE mine (id)"),
            "the database belongs to something else. Use another file",
        ),
        (
            lambda path: path.write_text("Dear diary, " * 1000),
            "the file is not an SQLite database .*. Use the file of a store, or a new one",
        ),
    ],
    ids=["another version", "something else", "text"],
)
def test_what_is_no_store_is_refused_and_left_as_it_is(
    path: Path, make: Callable[[Path], object], told: str
) -> None:
    """The error says what to do."""
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=told):
        opened(path)
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The error says what to do."""
    with pytest.raises(StoreError, match=r"its folder is not there. Use a folder that exists"):
        opened(tmp_path / "none" / "sessions.db")
    with pytest.raises(StoreError, match=r"this is a folder. Use a file in it, such as"):
        opened(tmp_path)


# --- damage -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            "UPDATE texts SET content = 'no' WHERE content = 'yes'",
            "the words of event 2 are not what was written",
        ),
        ("UPDATE events SET class = 2 WHERE number = 2", "event 2 is not what was written"),
        (
            "DELETE FROM texts WHERE content = 'yes'",
            "the words of event 2 are not what was written",
        ),
        ("DELETE FROM events WHERE number = 2", "event 3 is missing|event 2 is missing"),
        ("DELETE FROM events WHERE number = 3", "2 events are there of 3"),
        (
            "UPDATE companions SET body = '{}'",
            "companion 'notes' is not what was written|companion 'notes'",
        ),
    ],
    ids=["words", "class", "no words", "no event", "no last event", "companion"],
)
def test_what_is_not_what_was_written_is_never_handed_out(
    damage: str, told: str, path: Path
) -> None:
    """A row that has changed is an error that says so, and where to look for help."""
    with opened(path) as session:
        session.add_user_turn("is it?")
        session.add_assistant_turn("yes")
        session.add_user_turn("good")
        session._writer.store.append("s", 3, [], {"notes": "[1]"})
    change(path, damage)
    with pytest.raises(
        StoreError,
        match=(
            rf"the file is damaged: ({told}).*. Restore a copy of the file, or what `sqlite3 FILE "
            r".recover` brings back"
        ),
    ):
        opened(path)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_bytes_are_damaged_the_error_is_one_of_the_store(path: Path, seed: int) -> None:
    """Damaged bytes raise only typed errors, even if SQLite's message cannot be decoded."""
    store = SQLiteStore(path)
    session = ContextSession(1000, counter=WORDS, store=store, session_id="s")
    session.extend(
        [Turn("user" if number % 2 else "assistant", f"parcel {number} é") for number in range(20)]
    )
    session.history.search("parcel")
    revision = session.history.revision
    store.close()
    whole, chance, refused = path.read_bytes(), Random(seed), 0  # noqa: S311 - repeatable
    names = [found.start() for found in re.finditer(b"CREATE |sessions|events|texts|words", whole)]
    for number in range(100):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            data[
                chance.choice(names) + chance.randrange(60)
                if number % 2
                else chance.randrange(len(data))
            ] = chance.choice((0xFF, 0x9B, 0))
        path.write_bytes(data)
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        refused += _use(path, revision)
    assert refused


def _use(path: Path, revision: int) -> bool:
    """Do everything with a store that may be damaged; tell whether something was refused."""
    try:
        store = SQLiteStore(path)
    except StoreError:
        return True
    refused = 0
    for use in (
        lambda: store.load("s"),
        store.list_sessions,
        lambda: store.search("s", "parcel", 5),
        lambda: store.holders("s", ["t1"]),
        lambda: store.append("s", revision, [], {"notes": "{}"}),
        lambda: store.append("t", 0, [], {}),
        lambda: store.fork("s", "f", 3, {}),
        lambda: store.delete("s"),
    ):
        try:
            use()
        except (StoreError, ConflictError):
            refused += 1
    store.close()
    return refused > 0


@pytest.mark.usefixtures("often")
def test_a_damaged_snapshot_costs_time_and_nothing_else(path: Path) -> None:
    """A damaged snapshot is ignored: all events are replayed, and a new one is made soon."""
    with opened(path) as session:
        for number in range(150):
            session.add_user_turn(f"{number} is said")
        conversation = session.conversation
    for damage in (
        "UPDATE snapshots SET head = x'7B7D'",
        "UPDATE snapshots SET piece = x'7B7D'",
        "UPDATE snapshots SET head = NULL",
        "DELETE FROM snapshots",
    ):
        change(path, damage)
        with opened(path) as session:
            assert session.conversation == conversation
            session.add_user_turn("on")
            conversation = session.conversation
            assert snapshots_of(session) == ([conversation.revision], 0)


# --- commits ---------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.usefixtures("often")
def test_words_stand_in_the_file_once(path: Path) -> None:
    """A turn's words are in the file once, despite compressions, recalls and snapshots."""
    with opened(path) as session:
        session.add_user_turn("a very particular word: Zwetschgenknödel")
        for number in range(80):
            session.add_assistant_turn(f"{number}: {'so ' * 20}")
            session.compress(0.05)
            session.recall("t1")
        assert session.history.revision > 160
    assert path.read_bytes().count("Zwetschgenknödel".encode()) == 1


@pytest.mark.parametrize(
    "error", [sqlite3.OperationalError("database or disk is full"), OSError(28, "No space")]
)
def test_a_file_that_could_not_be_cleaned_is_cleaned_when_it_is_opened_again(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    """The error says so; what is erased stays erased, and the file opens even if it fails again."""
    wipe, cleaned = Wiping.go_on, list[bool]()

    def fail(*_: object) -> None:
        cleaned.append(False)
        raise error

    def succeed(self: Wiping, file: BinaryIO, db: sqlite3.Connection) -> None:
        cleaned.append(True)
        wipe(self, file, db)

    monkeypatch.setattr(Wiping, "go_on", fail)
    with opened(path) as session:
        session.add_user_turn("the secret is Quittengelee")
        with pytest.raises(StoreError, match=r"may still hold copies of it.*open the file again"):
            session.history.forget("t1")
        assert texts(session) == ["[forgotten]"]
    with opened(path):
        assert "may still hold copies" in caplog.text
    monkeypatch.setattr(Wiping, "go_on", succeed)
    for _ in range(2):
        with opened(path) as session:
            assert b"Quittengelee" not in raw(path)
            assert texts(session) == ["[forgotten]"]
    assert cleaned == [False, False, True]


@pytest.mark.usefixtures("often")
def test_two_sessions_of_one_journal_keep_one_row_of_snapshots(path: Path) -> None:
    """Two sessions of one journal continue from each other's snapshots."""
    with opened(path) as one, opened(path) as other:
        for number in range(120):
            (one, other)[number // 40 % 2].add_user_turn(f"one {number}")
            (other if number % 3 else one).add_user_turn(f"other {number}")
        snapshots, further = snapshots_of(one)
        assert further < 80
        assert len(snapshots) >= 3
        assert {each._writer._snapped.revision for each in (one, other)} == {snapshots[-1]}, (
            "both know the newest"
        )
        with opened(path) as third:
            assert third._writer._snapped.revision == snapshots[-1]
            assert third.history.revision == len(third.history.events())
            assert texts(third) == [
                turn.text for turn in max(one, other, key=lambda each: each.history.revision).log()
            ]


def test_a_snapshot_that_goes_on_from_another_is_left_out(path: Path) -> None:
    """A snapshot from 0 replaces all, one that follows the newest is added, others are ignored."""
    with opened(path) as session:
        store: Any = session._writer.store
        for base, event in enumerate(lived_events()[:5]):
            snapshot = Snapshot((0, 1, 1, 2, 0)[base], b"piece %d" % base, b"head")
            store.append("s", base, [event], {}, snapshot=snapshot)
            further = (0, 0, 1, 0, 0)[base]
            assert snapshots_of(session) == (([1], [1, 2], [1, 2], [1, 2, 4], [5])[base], further)


@pytest.mark.usefixtures("often")
def test_ids_of_items_go_on_in_another_process(path: Path) -> None:
    """Where snapshots spare the reading of old turns, ids of items are known all the same."""
    with opened(path) as session:
        session.attach(ContextItem("x = 1", "code", id="ctx-900"))
        for number in range(80):
            session.add_user_turn(f"{number} is said")
    code = """
        from polycontext.window import ContextItem
        with opened() as session:
            print(session._writer._snapped.revision > 0, ContextItem("y = 2", "code").id)
    """
    assert said_by(code, path) == "True ctx-901\n"


# --- where a store is -----------------------------------------------------------------------


def test_a_store_is_found_by_path_and_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path, an absolute one and the two URLs of them are one file."""
    monkeypatch.chdir(tmp_path)
    for place in (
        "a b.db",
        tmp_path / "a b.db",
        "sqlite:///a b.db",
        f"sqlite:///{tmp_path}/a%20b.db",
    ):
        with opened(place) as session:
            session.add_user_turn("one")
    assert ContextSession.history.list_sessions("a b.db") == ("s",)
    with opened("a b.db") as session:
        assert len(session.log()) == 4


@pytest.mark.parametrize("url", [
    "", ":memory:", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///x.db?mode=ro",
    "mysql://u:pw@h/d?key=s3cret", 7, None, object(), b"x",
])  # fmt: skip
def test_no_store_is_at_such_a_url(url: object) -> None:
    """A URL that names no store is refused, and the error contains no secret."""
    with pytest.raises(InvalidOptionError, match="Use the path of a SQLite file") as refused:
        ContextSession.open(url)  # type: ignore[arg-type]
    assert "pw" not in str(refused.value)
    assert "s3cret" not in repr(refused.value)


@pytest.mark.parametrize("timeout", [-1, "5", None, True, float("nan")])
def test_a_timeout_is_a_number_of_seconds(timeout: object, path: Path) -> None:
    """Anything else is refused before a file is made."""
    with pytest.raises(InvalidOptionError, match="timeout"):
        opened(path, timeout=timeout)
    with pytest.raises(InvalidOptionError, match="path"):
        SQLiteStore("a\0b")
    assert not path.exists()


def test_a_lock_that_cannot_be_made_is_told(path: Path) -> None:
    """A lock that cannot be made raises an error that names the folder."""
    for ending in (".lock", ".machine"):
        path.with_name(f"sessions.db{ending}").mkdir()
        with pytest.raises(StoreError, match="its folder cannot be written to"):
            opened(path, timeout=0)
        path.with_name(f"sessions.db{ending}").rmdir()
    with opened(path) as session:
        session.add_user_turn("one")


def test_a_journal_that_is_read_in_part_knows_what_gists_stand_for(path: Path) -> None:
    """`events(after)` resolves gists' ranges, even though it reads the file from the middle."""
    with opened(path) as session:
        for number in range(150):
            session.add_user_turn(f"{number} is said " + "so " * 20)
        middle = session.history.revision // 2
        later = session.history.events(middle)
        assert later == session.history.events()[middle:]
        gists = [
            turn.sources
            for event in later
            if isinstance(event, CompressEvent)
            for splice in event.edit.splices
            for turn in splice.turns
        ]
        assert gists
        assert all(isinstance(source, str) for sources in gists for source in sources)
        assert str(path) in repr(session._writer.store)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_files_are_readable_by_their_owner_alone(path: Path) -> None:
    """New files are readable by their owner only, and an existing file keeps its mode."""
    with opened(path) as session:
        session.add_user_turn("a secret")
        beside = sorted(path.parent.glob(f"{path.name}*"))
        assert {each.name.removeprefix(path.name) for each in beside} >= {"", "-wal", ".lock"}
        assert {each.stat().st_mode & 0o777 for each in beside} == {0o600}
    path.chmod(0o640)
    with opened(path) as session:
        session.add_user_turn("shared with a group")
        assert path.stat().st_mode & 0o777 == 0o640
