"""Erasure over random sessions: nothing is destroyed, refused, left behind or changed besides."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from polycontext.polynomial import ContextSession, StoreError
from polycontext.polynomial.journal import erasure, is_erased
from polycontext.polynomial.stores import Rewritten, SessionStore, SQLiteStore
from polycontext.pressure import default_summariser
from polycontext.window import Turn
from tests.erasures import faults_of
from tests.house import seeds
from tests.polynomial.conversations import WORDS, call, result, session_of, texts

LONG = " ".join(f"word{number}" for number in range(1200))


def _always(patch: list[dict[str, Any]]) -> Callable[[Any], list[dict[str, Any]]]:
    return lambda _: patch


@pytest.mark.parametrize("seed", seeds(2, 18, 400))
def test_erased_words_are_nowhere_and_all_else_stands(seed: int, tmp_path: Path) -> None:
    """After any life, in every event, revision, fork and byte of the files."""
    assert not list(faults_of(seed, tmp_path))


def test_a_truncated_turn_expires_and_the_session_opens(tmp_path: Path) -> None:
    """A first message longer than the window stays a truncated turn, not a summary, without words.

    Its text alone tells the two apart when the journal is replayed.
    """
    path = tmp_path / "chat.db"
    with ContextSession.open(path, "s", max_tokens=300, counter=WORDS) as session:
        session.add_user_turn(LONG)
        session.add_assistant_turn("That is long.")
        session.clear()
        assert session.history.retain(max_bytes=0) == 2
    with ContextSession.open(path, "s", max_tokens=300, counter=WORDS) as session:
        assert texts(session) == ["[expired]"] * 2
        assert session.history.forget("t1")
        session.history.rewind(1)
        assert "word" not in session.window.all_turns()[0].text


def test_a_document_loses_the_quoted_text(tmp_path: Path) -> None:
    """In values, in keys, and in the paths that lead to them; what else it holds stays.

    Keys that quote different texts stay apart.
    """
    path = tmp_path / "chat.db"
    said = "The code a/b~c of the safe is 4711.", "The code of the door is 4712."
    with ContextSession.open(path, "s", max_tokens=900, counter=WORDS) as session:
        for text in said:
            session.add_user_turn(text)
        order = {"note": f"Note: {said[0]} Keep it.", said[0]: 1}
        session.documents.patch("order", _always([{"op": "add", "path": "", "value": order}]))
        steps = [text.replace("~", "~0").replace("/", "~1") for text in said]
        changes = [{"op": "add", "path": f"/{step}", "value": 2} for step in steps]
        session.documents.patch("order", _always(changes))
        assert session.history.forget("t1")
        kept = {"note": "Note: [forgotten] Keep it."}
        assert session.documents.get("order") == {**kept, "[forgotten]": 2, said[1]: 2}
        assert session.history.forget("t2")
        assert session.documents.get("order") == {**kept, "[forgotten]": 2, "[forgotten] 2": 2}
    assert b"471" not in path.read_bytes()


def test_forgetting_a_turn_leaves_those_that_came_with_it(store: SessionStore) -> None:
    """Turns that were added at once have one time, and may have the same words, or none."""
    session = ContextSession(8000, counter=WORDS, store=store)
    session.extend(
        [
            {"role": "user", "content": "Look for both."},
            *(
                message
                for name in ("plums", "pears")
                for message in (call(name), result(name, "none"))
            ),
        ]
    )
    session.history.fork("other")
    before = session.log()
    assert session.history.forget("t2")
    assert session.history.forget("t5")
    fork = ContextSession(8000, counter=WORDS, store=store, session_id="other")
    for log in (session.log(), fork.log()):
        assert [is_erased(turn) for turn in log] == [False, True, False, False, True]
        assert (log[2], log[3]) == (before[2], before[3])


@pytest.mark.parametrize("chosen", ["t1", "t4"])
def test_forgetting_a_system_turn_erases_its_copies(chosen: str, tmp_path: Path) -> None:
    """`clear` adds system turns again under other ids, in forks, too."""
    path = tmp_path / "chat.db"
    with ContextSession.open(path, "s", max_tokens=900, counter=WORDS) as session:
        session.add_system("The key is hunter2.")
        session.add_user_turn("one")
        session.add_assistant_turn("two")
        session.history.fork("other").clear(keep_system=True)
        session.clear(keep_system=True)
        assert session.history.forget(chosen)
        assert [turn.text for turn in session.window.all_turns()] == ["[forgotten]"]
        assert [turn.text for turn in session.log()[1:3]] == ["one", "two"]
    assert b"hunter2" not in path.read_bytes()


def test_forgetting_a_turn_erases_what_was_undone_when_it_was_added_again(tmp_path: Path) -> None:
    """A synchronised list that changes early is added anew, at another time and under other ids."""
    path = tmp_path / "chat.db"
    with ContextSession.open(path, "s", max_tokens=900, counter=WORDS) as session:
        asked = (
            Turn("assistant", "Which code?"),
            Turn("user", "It is hunter2."),
            Turn("user", "Yes."),
        )
        session.sync([Turn("user", "Hi"), *asked])
        session.sync([Turn("user", "Hello"), *asked])
        chosen = session.log()[-2].resource_id
        assert session.history.forget(chosen)
        assert [turn.text for turn in session.log()[-2:]] == ["[forgotten]", "Yes."]
    assert b"hunter2" not in path.read_bytes()


def test_a_session_with_a_live_machine_shows_no_erased_words(tmp_path: Path) -> None:
    """At no earlier revision, and not when it is opened from the snapshot that it makes next."""
    store = SQLiteStore(tmp_path / "chat.db")
    session = ContextSession(max_tokens=900, counter=WORDS, store=store)
    assert session.machine
    for number in range(300):
        session.add_user_turn(f"The code of door {number} is xyzzy{number}.")
    assert session.history.forget("t1")
    for revision in (1, 257, 299, 300, 301):
        assert session.history.at(revision).log()[0].text == "[forgotten]"
    for number in range(300):
        session.add_user_turn(f"The code of gate {number} is xyzzy{number}.")
    again = ContextSession(max_tokens=900, counter=WORDS, store=store)
    assert again.log() == session.log()


def test_an_erasure_that_changes_more_than_words_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the rewritten journal says something else, the store keeps the old one."""
    store = SQLiteStore(tmp_path / "chat.db")
    session = ContextSession(max_tokens=900, counter=WORDS, store=store)
    session.add_user_turn("one")
    session.add_user_turn("two")
    before = store.load("session")
    erase = erasure.erased
    monkeypatch.setattr(
        erasure, "erased", lambda turn, *rest: erase(evolve(turn, resource_id="t9"), *rest)
    )
    with pytest.raises(StoreError, match="would change"):
        session.history.forget("t1")
    assert store.load("session") == before
    assert session.messages()
    store.close()


@pytest.mark.gate
def test_forgetting_a_turn_reads_few_of_the_turns_behind_a_summary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A summary of many turns is rewritten from those with the most of its text."""
    session = session_of(400)
    session.extend(
        {"role": ("user", "assistant")[number % 2], "content": f"step {number} made part{number}"}
        for number in range(1000)
    )
    read: list[int] = []
    summarise = type(default_summariser()).summarise

    def counted(self: object, turns: list[object], *rest: object, **options: object) -> str:
        read.append(len(turns))
        return summarise(self, turns, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(default_summariser()), "summarise", counted)
    assert session.history.forget("t30")
    assert read
    assert max(read) <= 200


class _DirtyStore(SQLiteStore):
    """A store whose file cannot be cleaned after its journals were replaced: the disk is full."""

    def rewrite(self, journals: Mapping[str, Rewritten]) -> None:
        super().rewrite(journals)
        raise StoreError("the file", "the disk is full", "Free some space")


def test_words_that_left_a_store_leave_the_session_although_it_failed(tmp_path: Path) -> None:
    """The session never shows words that its journal has lost."""
    with closing(_DirtyStore(tmp_path / "chat.db")) as store:
        session = ContextSession(max_tokens=900, counter=WORDS, store=store)
        session.add_user_turn("My password is hunter2.")
        with pytest.raises(StoreError, match="disk is full"):
            session.history.forget("t1")
        assert session.log()[0].text == "[forgotten]"
        assert session.history.revision == len(session.history.events())


def test_erasing_again_loads_what_another_writer_erased(tmp_path: Path) -> None:
    """There is nothing left to erase, and the words are gone from this session, too."""
    with closing(SQLiteStore(tmp_path / "chat.db")) as store:
        session = ContextSession(max_tokens=900, counter=WORDS, store=store)
        session.add_user_turn("My password is hunter2.")
        other = ContextSession(max_tokens=900, counter=WORDS, store=store)
        assert other.history.forget("t1")
        assert not session.history.forget("t1")
        assert session.log()[0].text == "[forgotten]"
