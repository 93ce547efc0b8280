"""A session goes back, is looked at as it was, and branches off: the journal keeps all of it."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from polycontext.base import InvalidOptionError, PolycontextError
from polycontext.linearity import UnknownResourceError
from polycontext.polynomial import ContextSession, ContextState, SessionWriteError
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore
from polycontext.pressure import ConflictError
from polycontext.window import ContextItem
from tests.house import sizes
from tests.polynomial.conversations import call, result, session_of, texts, words
from tests.polynomial.session.faulty import Counting, Least, Ticking


def spoken(*texts: str, **options: Any) -> ContextSession:
    """Return a session in which user and assistant have said these by turns."""
    session = session_of(clock=Ticking(), **options)
    for number, text in enumerate(texts):
        session.add_assistant_turn(text) if number % 2 else session.add_user_turn(text)
    return session


@pytest.mark.parametrize("steps", sizes(100, 400))
def test_whatever_happened_since_a_rewind_takes_it_back(steps: int) -> None:
    """A rewind restores log, view, classes, state and evictions, however often it is repeated."""
    random = Random(7)  # noqa: S311 - nothing here is a secret
    session = session_of(300, clock=Ticking(), cooldown=2)
    seen = {0: session.conversation}
    for number in range(steps):
        match random.randrange(10):
            case 0:
                revision = random.choice(sorted(seen))
                session.history.rewind(revision)
                now, wanted = session.conversation, seen[revision]
                assert (now.state, now.log, now.window.all_turns()) == (
                    wanted.state,
                    wanted.log,
                    wanted.window.all_turns(),
                )
                assert now.window.linearity == wanted.window.linearity
                assert list(now.past.batches) == list(wanted.past.batches)
            case 1 if session.state is not ContextState.EMPTY:
                session.promote(session.log()[-1].resource_id, "PRESERVED") if len(
                    session.log()
                ) % 7 == 0 else session.compress(0.2)
            case _:
                session.add_user_turn(words(random.randrange(1, 30), f"n{number}_"))
        seen[session.history.revision] = session.conversation


def test_no_id_is_given_twice_however_often_a_session_goes_back() -> None:
    """Ids count on through what was abandoned, so that a name of a turn means one turn for ever."""
    session = spoken("one", "two")
    given = [turn.resource_id for turn in session.log()]
    for number in range(50):
        session.history.rewind(1)
        session.add_assistant_turn(f"another {number}")
        given.append(session.log()[-1].resource_id)
    assert len(set(given)) == len(given)


def test_an_edit_attaches_something_else() -> None:
    """Items of its own, behind those that stay."""
    session = session_of()
    session.send_message(
        "What of this file?", [ContextItem("print(1)", "code", metadata={"filename": "a.py"})]
    )
    session.history.edit(
        session.log()[-1].resource_id,
        "And of that?",
        [ContextItem("print(2)", "code", metadata={"filename": "b.py"})],
    )
    assert [
        "print(1)" in texts(session)[0],
        "print(2)" in texts(session)[1],
        texts(session)[2:],
    ] == [
        True,
        True,
        ["And of that?"],
    ]


def test_an_edit_is_one_commit() -> None:
    """Where what is attached does not get in, everything stays as it was."""
    session = spoken("one", "two", max_tokens=60)
    before = session.conversation
    with pytest.raises(PolycontextError):
        session.history.edit(
            "t1", "Look.", [ContextItem(words(500), "code", metadata={"filename": "a.py"})]
        )
    assert session.conversation is before


def test_an_answer_is_made_anew_with_all_its_calls() -> None:
    """The calls that led to it, and their results, go with it."""
    session = spoken("one", "two", "three")
    session.extend([call("c1"), result("c1", "seen")])
    session.add_assistant_turn("four")
    session.history.regenerate()
    assert texts(session) == ["one", "two", "three"]
    session.add_assistant_turn("another")
    assert texts(session)[-1] == "another"


def test_a_time_is_a_moment() -> None:
    """As it stood before the first event that is later; before all and behind all as well."""
    session = spoken("one", "two", "three")
    second = session.log()[1].timestamp
    assert texts(session.history.at(second)) == ["one", "two"]
    assert texts(session.history.at(second - timedelta(microseconds=1))) == ["one"]
    assert texts(session.history.at(datetime(1990, 1, 1, tzinfo=UTC))) == []
    assert texts(session.history.at(datetime(2990, 1, 1, tzinfo=UTC))) == ["one", "two", "three"]


def test_a_past_session_reads_and_does_not_write() -> None:
    """A past session shows the messages, events, pressure and search results of its revision."""
    session = spoken("A train to Vienna", "two")
    past = session.history.at("t1")
    session.add_user_turn("three")
    session.clear()
    assert past.messages() == [{"role": "user", "content": "A train to Vienna"}]
    assert (past.state, past.machine.context_state) == (
        ContextState.ACCUMULATING,
        ContextState.ACCUMULATING,
    )
    assert (past.history.revision, past.history.events()) == (1, session.history.events()[:1])
    assert [found.snippet for found in past.history.search("Vienna")] == ["A train to Vienna"]
    assert past.explain("t1").place == 0
    assert repr(past).startswith("ContextSession(revision 1 of 'session', ACCUMULATING, 1 turns")


def test_a_past_session_refuses_what_is_written() -> None:
    """Every write to a past session raises an error and changes nothing, but forks are allowed."""
    session = spoken("one", "two", "three")
    past, before = session.history.at(2), session.conversation
    acts: list[Callable[[ContextSession], object]] = [
        lambda s: s.add_user_turn("x"),
        lambda s: s.clear(),
        lambda s: s.history.rewind(1),
        lambda s: s.history.forget("t1"),
        lambda s: asyncio.run(s.aadd_user_turn("x")),
        lambda s: asyncio.run(s.history.arewind(1)),
    ]
    for act in acts:
        with pytest.raises(
            SessionWriteError, match=r"shown as it once stood. Write to the session itself"
        ):
            act(past)
    assert session.conversation is before
    assert past.history.refresh().history.revision == 2
    assert texts(past.history.at(1)) == ["one"]
    fork = past.history.fork("branch")
    fork.add_user_turn("else")
    assert texts(fork) == ["one", "two", "else"]


def test_a_rewind_takes_no_turn_that_left_the_log() -> None:
    """Its id is refused like an unknown one; a revision still leads there, and it can be read."""
    session = spoken("one", "two", "three")
    third, revision = session.log()[-1].resource_id, session.history.revision
    session.history.rewind(session.log()[0].resource_id)
    for unknown in (third, "t99"):
        with pytest.raises(UnknownResourceError):
            session.history.rewind(unknown)
    assert texts(session.history.at(third)) == ["one", "two", "three"]
    session.history.rewind(revision)
    session.history.rewind(third)
    assert texts(session) == ["one", "two", "three"]


def test_a_fork_keeps_the_options_and_lives_by_itself(tmp_path: Path) -> None:
    """A fork keeps budget, policy and clock, and works after the original is closed."""
    session = ContextSession.open(tmp_path / "s.db", "first", 500, auto=False, reserve=17)
    session.add_user_turn("one")
    fork = session.history.fork("second")
    session.close()
    fork.add_assistant_turn("two")
    assert (fork.window.max_tokens, fork.policy.auto, fork.policy) == (
        session.window.max_tokens,
        False,
        session.policy,
    )
    fork.close()
    assert ContextSession.history.list_sessions(tmp_path / "s.db") == ("first", "second")
    with ContextSession.open(tmp_path / "s.db", "first", 500) as again:
        assert texts(again) == ["one"]


def test_a_fork_takes_no_id_that_is_there() -> None:
    """Neither another session's nor its own; nor one that is none."""
    session = spoken("one")
    session.history.fork("second")
    for taken in ("second", "session"):
        with pytest.raises(ConflictError, match=f"session {taken!r}: expected an unused id"):
            session.history.fork(taken)
    for none in ("", None, "\ud800"):
        with pytest.raises(InvalidOptionError):
            session.history.fork(none)  # type: ignore[arg-type]


def test_a_store_that_shares_nothing_is_given_a_copy() -> None:
    """A store with `load` and `append` alone forks as well."""
    session = session_of(store=Least())
    session.add_user_turn("one")
    fork = session.history.fork("second")
    fork.add_assistant_turn("two")
    assert (texts(session), texts(fork)) == (["one"], ["one", "two"])


@pytest.mark.gate
def test_a_fork_shares_the_stored_texts(tmp_path: Path) -> None:
    """A hundred forks of a large session take hardly more room than one."""
    file = tmp_path / "s.db"
    with ContextSession.open(file, "first", 8000) as session:
        for number in range(50):
            session.add_user_turn(words(300, f"{number}_"))
        size = file.stat().st_size + (tmp_path / "s.db-wal").stat().st_size
        for number in range(20):
            session.history.fork(f"fork{number}").close()
    assert file.stat().st_size < 2 * size


def test_writers_see_that_another_went_back() -> None:
    """A stale session catches up with a rewind at its next write, with its live machine."""
    store = InMemoryStore()
    for to in (1, 3):
        listener = Counting()
        ahead = session_of(store=store, session_id=f"s{to}")
        for number in range(4):
            ahead.add_user_turn(f"n{number}")
        behind = session_of(store=store, session_id=f"s{to}", listeners=[listener])
        ahead.history.rewind(to)
        ahead.add_user_turn("else")
        behind.add_assistant_turn("answer")
        assert texts(behind) == [*(f"n{number}" for number in range(to)), "else", "answer"]
        assert (behind.machine.context_state, behind.machine.window) == (
            behind.state,
            behind.window,
        )
        assert [kind.value for kind, _ in listener.heard] == [
            "rewind",
            "user_turn",
            "assistant_turn",
        ]


def test_a_file_that_went_back_behind_its_snapshot_opens_by_a_new_one(tmp_path: Path) -> None:
    """Opening replays no more than what came since, also then."""
    store = SQLiteStore(tmp_path / "s.db")
    session = session_of(store=store, session_id="s")
    for number in range(300):
        session.add_user_turn(f"n{number}")
    session.history.rewind(20)
    opened = store.opened("s")
    assert opened is not None
    assert opened.stored.snapshot == session.history.revision
    again = session_of(store=store, session_id="s")
    assert again.conversation == session.conversation
    assert again.conversation.joints == session.conversation.joints
    again.history.rewind(280)
    assert texts(again) == texts(session.history.at(280))
    store.close()
