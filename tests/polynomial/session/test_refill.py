"""A refill brings back what fits when room appears: a larger window, or forgotten turns."""

import pytest

from polycontext.polynomial import (
    ContextInput,
    ContextOverflowError,
    ContextPressureError,
    ContextSession,
    IllegalDirectionError,
)
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import Edit, FixedThreshold
from polycontext.window import Splice
from tests.polynomial.conversations import ids, session_of, words


def squeezed(turns: int = 12, **options: object) -> ContextSession:
    """Return a session of many turns with a summary."""
    session = session_of(300, threshold=0.9, **options)
    for number in range(turns):
        session.add_user_turn(words(20, f"n{number}_"))
    session.compress(0.3)
    return session


def test_what_fits_comes_back_newest_first_and_below_the_low_mark() -> None:
    """It is one event, and the gist stays for what does not fit."""
    session = squeezed(16)
    before, revision = ids(session), session.history.revision
    output = session.history.refill()
    back = [each for each in ids(session) if each not in before]
    left = [turn for turn in session.log() if turn.resource_id not in ids(session)]
    assert back
    assert left
    assert max(turn.resource_id[1:].zfill(3) for turn in left) < min(e[1:].zfill(3) for e in back)
    assert output.pressure <= session.policy.low(session.window)
    assert any(turn.is_gist for turn in session.window.all_turns())
    assert (session.history.revision, session.history.events()[-1].kind) == (revision + 1, "refill")


def test_a_summary_goes_once_all_that_it_stands_for_is_back() -> None:
    """A larger window shows the conversation as it was said; nothing is told twice."""
    store = InMemoryStore()
    session = squeezed(store=store)
    session.send("resize", 3000)
    assert session.window.all_turns() == session.log()
    assert [event.kind for event in session.history.events()[-2:]] == ["resize", "refill"]
    again = session_of(3000, threshold=0.9, store=store)
    assert again.window == session.window


def test_a_little_more_room_begins_no_epoch() -> None:
    """The view stays, whose prefix is cached, until the low mark is above the old budget."""
    session = squeezed()
    epoch = session.window.epoch
    session.send("resize", 350)
    assert session.window.epoch == epoch
    session.send("resize", 3000)
    assert session.window.all_turns() == session.log()
    assert session.window.epoch.number == epoch.number + 1


def test_forgotten_turns_make_room() -> None:
    """What is erased does not come back; what fits in its place does."""
    session = squeezed(16)
    session.history.refill()
    before = {*ids(session)}
    for turn in session.window.all_turns()[-4:-1]:
        session.history.forget(turn.resource_id)
    session.history.refill()
    assert {*ids(session)} > before
    assert session.pressure <= session.policy.low(session.window)


@pytest.mark.parametrize("keeps_open", [False, True])
def test_calls_come_back_with_their_results(keeps_open: bool) -> None:
    """An atom is whole, and nothing is refilled unasked while a call is open."""
    session = session_of(400, threshold=0.9)
    session.add_user_turn("What do the files say?")
    for number in range(6):
        call = {"id": f"c{number}", "name": "read", "arguments": f'{{"n": {number}}}'}
        session.add_assistant_turn(tool_calls=[call])
        session.add_tool_turn(words(30, f"r{number}_"), tool_call_id=f"c{number}")
    session.compress(0.2)
    if keeps_open:
        session.add_assistant_turn(tool_calls=[{"id": "c9", "name": "read", "arguments": "{}"}])
    before = ids(session)
    session.send("resize", 4000)
    assert (ids(session) == before) is keeps_open
    assert keeps_open or session.window.all_turns() == session.log()
    session.messages(allow_open=keeps_open)


def test_a_refill_is_refused_where_nothing_may_come_back() -> None:
    """EMPTY and PRESSURED refuse it, and the machine refuses what exceeds the low mark."""
    with pytest.raises(IllegalDirectionError):
        session_of().history.refill()
    pressed = session_of(100, auto=False)
    pressed.add_user_turn(words(80))
    with pytest.raises(ContextPressureError):
        pressed.history.refill()
    session = session_of(300, threshold=FixedThreshold(0.9, low=0.0), auto=False)
    session.add_user_turn(words(20))
    session.add_assistant_turn(words(60))
    session.compress(0.0)
    (lost,) = [turn for turn in session.log() if turn.resource_id not in ids(session)]
    before = session.conversation
    with pytest.raises(ContextOverflowError, match="refilled"):
        session.send(ContextInput.refill(Edit((Splice(1, 2, (lost,)),))))
    assert session.conversation is before
