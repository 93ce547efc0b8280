"""Idempotency keys, and calls left open by a writer that died.

A command with a key happens once, and open calls can be closed.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import SessionStore
from polycontext.pressure import AdaptiveThreshold, ConflictError
from polycontext.window import ContextItem, OrderError, Turn
from tests.polynomial.conversations import WORDS, call, result, texts, words
from tests.polynomial.session.faulty import FaultyStore


def no_change(_: object) -> None:
    """Change nothing of a document."""


def session_in(store: SessionStore, **options: Any) -> ContextSession:
    """Return a small session."""
    return ContextSession(
        400, counter=WORDS, threshold=AdaptiveThreshold(), store=store, session_id="s", **options
    )


CALLS = call("c0", "c1", "c2")
RESULT = result("c0", "three")

COMMANDS: Mapping[str, Callable[[ContextSession, str | None], object]] = {
    "add": lambda s, key: s.add(Turn("user", "one"), idempotency_key=key),
    "add_user_turn": lambda s, key: s.add_user_turn("one", idempotency_key=key),
    "add_system": lambda s, key: s.add_system("one", idempotency_key=key),
    "extend": lambda s, key: s.extend(
        [Turn("user", "one"), Turn("assistant", "two")], idempotency_key=key
    ),
    "add_message": lambda s, key: s.add_message(
        {"role": "user", "content": "one"}, idempotency_key=key
    ),
    "attach": lambda s, key: s.attach(ContextItem("x = 1", "code"), idempotency_key=key),
    "send_message": lambda s, key: s.send_message(
        "one", [ContextItem("x = 1", "code")], idempotency_key=key
    ),
    "compress": lambda s, key: s.compress(0.0, idempotency_key=key),
    "clear": lambda s, key: s.clear(idempotency_key=key),
    "promote": lambda s, key: s.promote("t2", "PRESERVED", idempotency_key=key),
    "recall": lambda s, key: s.recall("t2", idempotency_key=key),
    "undo": lambda s, key: s.history.undo(idempotency_key=key),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_happens_once_under_a_key(name: str, store: SessionStore) -> None:
    """A repeated key does nothing, in the same session, in a stale one, and in a reopened one."""
    session, late = session_in(store), session_in(store)
    session.add_user_turn(words(50))
    session.add_assistant_turn(words(100))
    if name in ("recall", "undo"):
        session.compress(0.1)
    act = COMMANDS[name]
    assert not session.history.has_taken("k")
    act(session, "k")
    conversation = session.conversation
    for again in (session, late, session_in(store)):
        assert again.history.has_taken("k")
        act(again, "k")
        assert again.conversation == conversation
    assert session.history.revision == len(store.load("s").events)


UNREPEATABLE: Mapping[str, Callable[[ContextSession], object]] = {
    "add_message": lambda s: s.add_message(RESULT, idempotency_key="k"),
    "extend": lambda s: s.extend([RESULT], idempotency_key="k"),
    "patch": lambda s: s.documents.patch("doc", no_change, turns=[RESULT], idempotency_key="k"),
    "edit": lambda s: s.history.edit("t1", "one", idempotency_key="k"),
    "rewind": lambda s: s.history.rewind("t1", idempotency_key="k"),
    "revoke": lambda s: s.rules.revoke("t1:1", idempotency_key="k"),
    "remove": lambda s: s.rules.remove("t1:1", idempotency_key="k"),
}


@pytest.mark.parametrize("name", UNREPEATABLE)
def test_a_command_that_its_own_effect_rules_out_can_be_repeated(
    name: str, store: SessionStore
) -> None:
    """The result has no open call any more, the turn is gone, or the rule has ended."""
    session, late = session_in(store), session_in(store)
    session.add_user_turn("Look it up. Never push.")
    if name in ("add_message", "extend", "patch"):
        session.add_message(call("c0"))
    else:
        session.add_assistant_turn("One.")
    act = UNREPEATABLE[name]
    act(session)
    conversation = session.conversation
    for again in (session, late, session_in(store)):
        act(again)
        assert again.conversation == conversation
    assert session.history.revision == len(store.load("s").events) == 3 + (name == "edit")


def test_a_key_outlives_a_stale_revision(store: SessionStore) -> None:
    """Repeating a key with its old revision is no conflict, since the command has happened."""
    session = session_in(store)
    session.add_user_turn("one", expected_revision=0, idempotency_key="k")
    session.add_user_turn("one", expected_revision=0, idempotency_key="k")
    with pytest.raises(ConflictError, match="expected 0, found 1"):
        session.add_user_turn("two", expected_revision=0, idempotency_key="other")
    assert len(session.log()) == 1


def test_a_lost_answer_is_asked_for_again() -> None:
    """After a lost answer, the same key changes nothing and another command follows."""
    store = FaultyStore()
    session = session_in(store)
    store.fault = "after"
    with pytest.raises(OSError, match="the answer is lost"):
        session.add_user_turn("book it", idempotency_key="booking")
    assert session.log() == ()
    session.add_user_turn("book it", idempotency_key="booking")
    assert texts(session) == ["book it"]
    store.fault = "after"
    with pytest.raises(OSError, match="the answer is lost"):
        asyncio.run(session.aadd_user_turn("and pay", idempotency_key="paying"))
    asyncio.run(session.aadd_user_turn("and pay", idempotency_key="paying"))
    session.add_user_turn("thanks")
    assert texts(session) == ["book it", "and pay", "thanks"]


# --- a dead writer ---------------------------------------------------------------------------


def left_open(store: SessionStore, results: int = 0, **options: Any) -> ContextSession:
    """Return the session that a writer left between calls and their results."""
    session = session_in(store, **options)
    session.add_user_turn("look thrice")
    session.add_message(CALLS)
    for number in range(results):
        session.add_tool_turn(f"result {number}", tool_call_id=f"c{number}")
    return session_in(store, **options)


def test_they_are_ended_with_a_marked_result(store: SessionStore) -> None:
    """One commit closes all open calls with marked results, and the conversation goes on."""
    session = left_open(store, results=1)
    with pytest.raises(OrderError):
        session.add_user_turn("are you there?")
    before = session.history.revision
    output = session.close_open_calls(" the process was stopped ")
    assert output.repaired == ("t4", "t5")
    assert session.history.revision == before + 2
    assert [turn.text for turn in session.log()[3:]] == ["[no result: the process was stopped]"] * 2
    assert [turn.metadata["repaired"] for turn in session.log()[3:]] == [True, True]
    session.add_user_turn("are you there?")
    assert session.messages()[-1] == {"role": "user", "content": "are you there?"}
    assert session_in(store).conversation == session.conversation


def test_ending_calls_twice_is_ending_them_once(store: SessionStore) -> None:
    """Without open calls nothing happens, and the task's twin does the same."""
    session = left_open(store)
    asyncio.run(session.aclose_open_calls("gone", idempotency_key="k"))
    revision = session.history.revision
    assert session.close_open_calls("gone").repaired == ()
    assert session.close_open_calls("gone", idempotency_key="k").repaired == ()
    assert session.history.revision == revision == 5
