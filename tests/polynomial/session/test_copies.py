"""Sessions, outputs and what they hold can be pickled and deep-copied; a copy goes on by itself."""

import pickle
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import pytest

from polycontext.polynomial import ContextSession, ContextState, replay
from polycontext.polynomial.stores import InMemoryStore
from tests.polynomial.conversations import (
    WORDS,
    add_all,
    session_of,
    text_of,
    tool_atom,
    whole,
    words,
)
from tests.polynomial.session.faulty import Least, Ticking

Copy = Callable[[Any], Any]


def pickled(value: Any) -> Any:
    """Return what comes out of a pickle."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


copies = pytest.mark.parametrize("copy", [pickled, deepcopy])


def grown() -> ContextSession:
    """Return a session that has been through everything."""
    session = ContextSession(600, counter=WORDS, clock=Ticking())
    session.add_system("Be brief.")
    session.add_user_turn("Plan a journey.")
    add_all(session, tool_atom("look", 60, 20, said="let me look"))
    session.add_assistant_turn(words(60, "a"))
    session.add_user_turn(words(60, "u"))
    session.add_assistant_turn(words(60, "b"))
    session.compress(0.4)
    session.recall(["t6"])
    session.pin("t6")
    return session


@copies
def test_a_copied_session_is_the_same_and_goes_on_by_itself(copy: Copy) -> None:
    """A copy has the same view, journal and settings; copy and original are independent."""
    session = grown()
    twin = copy(session)
    assert whole(twin) == whole(session)
    assert text_of(twin) == text_of(session)
    assert twin.messages() == session.messages()
    before = whole(session)
    twin.add_user_turn("only here")
    twin.compress(0.3)
    twin.recall(["t3"])
    assert twin.machine.window == twin.window
    assert whole(session) == before
    after = whole(twin)
    session.add_user_turn("only there")
    session.clear()
    assert whole(twin) == after
    assert replay(twin.history.events(), twin._writer.empty) == twin.conversation


@copies
def test_a_store_in_memory_travels_with_its_sessions(copy: Copy) -> None:
    """Sessions copied together share one copied in-memory store, with its other sessions."""
    store = InMemoryStore()
    one = ContextSession(400, counter=WORDS, store=store, session_id="one")
    same = ContextSession(400, counter=WORDS, store=store, session_id="one")
    other = ContextSession(400, counter=WORDS, store=store, session_id="other")
    one.add_user_turn("hello")
    other.add_user_turn("good morning")
    twins: Sequence[ContextSession] = copy([one, same])
    twins[0].add_assistant_turn("hi")
    twins[1].add_user_turn("how are you?")
    assert [turn.text for turn in twins[1].log()] == ["hello", "hi", "how are you?"]
    travelled = twins[0]._writer.store
    assert travelled is twins[1]._writer.store
    assert len(travelled.load("other").events) == 1
    assert len(store.load("one").events) == 1


@copies
def test_a_session_that_is_kept_elsewhere_is_not_copied(copy: Copy) -> None:
    """A session in an external store cannot be copied, and the error says what to do."""
    session = session_of(400, store=Least())
    session.add_user_turn("hello")
    with pytest.raises(
        TypeError, match=r"kept in a Least cannot be copied. Open it again over its store"
    ):
        copy(session)
    assert session.state is ContextState.ACCUMULATING
