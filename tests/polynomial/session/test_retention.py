"""Forgotten words are gone everywhere, and expired words only from the log."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from polycontext.base import InvalidDataError, InvalidOptionError, PolycontextError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure.projector import ContextProjector
from polycontext.window import Turn
from tests.polynomial.conversations import (
    THOUGHT,
    WORDS,
    call,
    document,
    lines_of,
    result,
    session_of,
    text_of,
    texts,
)
from tests.polynomial.session.faulty import Counting, Least, Ticking

SECRET = "xyzzy-4711"  # noqa: S105 - nobody uses it


def told(session: Any) -> str:
    """Return everything that a session and its store hold, as text."""
    store = session._writer.store
    journals = [repr(store.load(name)) for name in store.list_sessions()]
    shown: object = session.window.all_turns()
    with suppress(PolycontextError):
        shown = session.messages(allow_open=True)
    return "\n".join(
        [
            *journals,
            repr(session.conversation),
            *map(repr, session.log()),
            repr(shown),
            text_of(session),
        ]
    )


def long_talk(session: ContextSession, turns: int = 60) -> ContextSession:
    """Return a session with many compressions, and an early secret that its gists mention."""
    for number in range(turns):
        said_besides = (
            f" Its password is {SECRET}, see /srv/{SECRET}/key.pem line 4711."
            if number == 3
            else ""
        )
        session.add_user_turn(
            f"We talk of /srv/file{number % 7}.py and of other things, as people do.{said_besides}"
        )
        session.add_assistant_turn(
            f"Yes, that we do, number {number}, for a while at least, and then we go on with "
            "the next."
        )
    return session


def test_calls_stay_with_their_results() -> None:
    """Arguments, thoughts and names are words; what holds a request together is not."""
    session = session_of()
    session.add_user_turn("one", name="ann")
    session.extend([call("c1", name="look"), result("c1", "seen")])
    session.add(Turn("assistant", "done", parts=(THOUGHT,), metadata={"who": "ann"}))
    for turn in session.log():
        assert session.history.forget(turn.resource_id)
    assert [(turn.text, turn.name, turn.parts) for turn in session.log()] == [
        ("[forgotten]", None, ())
    ] * 4
    assert [(made.id, made.name, made.arguments) for made in session.log()[1].tool_calls] == [
        ("c1", "look", "{}")
    ]
    for provider in ("openai", "anthropic", "openai-responses"):
        assert session.request(provider).messages


def test_a_session_that_was_imported_beside_it_forgets_as_well() -> None:
    """The copy has the turns under another id of the session."""
    session = long_talk(session_of(400, clock=Ticking(), session_id="first"), 20)
    copy = ContextSession.history.load(
        text_of(session), counter=WORDS, url=session._writer.store, session_id="copy"
    )
    assert session.history.forget("t7")
    copy.add_user_turn("on")
    assert SECRET not in told(session) + told(copy)


def test_an_open_session_elsewhere_sees_it_at_its_next_write() -> None:
    """A session open elsewhere sees the erasure at its next write, and its machine follows."""
    store, listener = InMemoryStore(), Counting()
    session = long_talk(session_of(400, clock=Ticking(), store=store), 20)
    other = session_of(400, clock=Ticking(), store=store, listeners=[listener])
    session.history.forget("t7")
    other.compress(0.1)
    assert SECRET not in told(other)
    assert other.conversation == session_of(400, store=store).conversation
    assert (other.machine.context_state, other.machine.window) == (other.state, other.window)
    other.add_user_turn("on")
    assert other.machine.window is other.window


def spoken_twice() -> ContextSession:
    """Return a session in which the assistant quotes the user."""
    session = session_of(clock=Ticking())
    session.add_user_turn("the code is 7.")
    session.add_assistant_turn("You said: the code is 7.")
    return session


def test_a_store_that_erases_nothing_says_so() -> None:
    """It is not pretended."""
    session = session_of(store=Least())
    session.add_user_turn("one")
    with pytest.raises(InvalidOptionError, match="holders"):
        session.history.forget("t1")
    with pytest.raises(InvalidOptionError, match="holders"):
        session.history.retain(days=0)


# --- retention --------------------------------------------------------------------


def test_what_is_too_old_expires_and_the_view_stays() -> None:
    """Old turns expire from the log, and the view and the next gist keep their content."""
    session = long_talk(session_of(900, clock=Ticking()), 40)
    view = session.window.all_turns()
    words_before = repr(session.messages())
    count = session.history.retain(days=0)
    standing = {turn.resource_id for turn in view}
    assert count == sum(turn.resource_id not in standing for turn in session.log())
    assert session.window.all_turns() == view
    assert repr(session.messages()) == words_before
    assert {turn.text for turn in session.log() if turn.resource_id not in standing} == {
        "[expired]"
    }
    gist = next(turn for turn in view if turn.is_gist)
    assert SECRET in gist.text
    for _ in range(60):
        session.add_user_turn(
            "And then we go on, and say a little more of this and that, as it comes."
        )
    later = next(turn for turn in session.window.all_turns() if turn.is_gist)
    assert later.resource_id != gist.resource_id
    assert SECRET in later.text
    assert "[expired]" not in later.text


def test_the_newest_words_stay_within_a_number_of_bytes() -> None:
    """The newest words within a number of bytes stay, and so does the whole view."""
    session = session_of(clock=Ticking())
    for number in range(10):
        session.add_user_turn(f"{number}" * 100)
    session.clear()
    assert session.history.retain(max_bytes=300) == 7
    assert [turn.text[0] for turn in session.log()] == [*("[" * 7), "7", "8", "9"]
    assert session.history.retain(max_bytes=300) == 0
    session.add_user_turn("x" * 500)
    assert session.history.retain(max_bytes=10) == 3
    assert texts(session)[-1] == "x" * 500


def test_age_is_reckoned_by_the_sessions_clock() -> None:
    """Days may be parts of one."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    session = session_of(clock=lambda: moment)
    session.add_user_turn("old", expected_revision=0)
    moment += timedelta(hours=36)
    session.add_user_turn("new")
    session.clear()
    assert session.history.retain(days=2) == 0
    assert (
        session.history.retain(days=1e300) == session.history.retain(days=float("inf")) == 0
    )  # before there were days
    assert session.history.retain(days=1.4) == 1
    assert texts(session) == ["[expired]", "new"]


def test_forks_keep_what_expired_elsewhere() -> None:
    """Retention is of one session; only forgetting reaches others."""
    session = spoken_twice()
    fork = session.history.fork("other")
    session.clear()
    session.history.retain(days=0)
    assert (texts(session)[0], texts(fork)[0]) == ("[expired]", "the code is 7.")


def test_what_expired_can_still_be_forgotten() -> None:
    """Gists in the view may quote it: then they lose it, too."""
    session = long_talk(
        session_of(
            400,
            clock=Ticking(),
            projector=ContextProjector(lambda turns, tokens: f"the code is {SECRET}"),
        ),
        20,
    )
    session.history.retain(days=0)
    secret = session.log()[6].resource_id
    assert session.log()[6].text == "[expired]"
    assert SECRET in told(session)
    assert session.history.forget(secret)
    assert SECRET not in told(session)


def test_a_journal_that_says_erased_of_words_is_refused() -> None:
    """Replaying believes nothing."""
    session = spoken_twice()
    data = document(session)
    data["events"].append({
        "event": "EraseEvent", "state": "ACCUMULATING", "resource_ids": ["t1"], "why": "forgotten",
        "at": "2026-01-01T00:00:00+00:00",
    })  # fmt: skip
    with pytest.raises(InvalidDataError, match="has words still"):
        ContextSession.history.load(lines_of(data), counter=WORDS)
