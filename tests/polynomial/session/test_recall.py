"""Recall: what was dropped or summarised comes back from the log, whole and where it stood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import UnknownResourceError
from polycontext.polynomial import (
    ContextOverflowError,
    ContextSession,
    ContextState,
    Conversation,
    replay,
)
from polycontext.pressure import AdaptiveThreshold
from polycontext.testing import FAST
from polycontext.testing.strategies import Move
from polycontext.window import ContextWindow, Turn
from polycontext.window.part_removal import unbound
from polycontext.window.providers import Provider, get_format
from tests.polynomial.conversations import (
    WORDS,
    add_all,
    chat,
    ids,
    recount,
    session_moves,
    session_of,
    tool_atom,
    whole,
    words,
)


def compressed(*turns: Turn, target: float = 0.0, max_tokens: int = 2000) -> ContextSession:
    """Return a session with these turns behind a task, compressed."""
    session = ContextSession(max_tokens, counter=WORDS, auto=False, threshold=AdaptiveThreshold())
    add_all(session, [Turn("user", "the task is to book a flight"), *turns])
    session.compress(target)
    return session


def stands_verbatim(session: ContextSession, *places: int) -> bool:
    """Tell whether these turns of the log stand in the view, side by side and word for word."""
    turns, view = [session.log()[place] for place in places], session.window.all_turns()
    return any(list(view[start : start + len(turns)]) == turns for start in range(len(view)))


def test_the_id_of_a_gist_brings_all_its_sources_back() -> None:
    """Recalling a gist recalls everything it stands for, in the order of the log."""
    session = compressed(*tool_atom("search", 30), *chat(10, 20))
    gist = next(
        turn for turn in session.window.all_turns() if turn.is_gist and len(turn.sources) > 2
    )
    session.recall([gist.resource_id])
    assert all(stands_verbatim(session, int(source[1:]) - 1) for source in gist.sources)
    assert [i for i in ids(session) if i in gist.sources] == list(gist.sources)


def test_recalling_what_stands_changes_nothing() -> None:
    """Nothing to bring back is no event."""
    session = compressed(*chat(16, 20)[1:])
    before = whole(session)
    session.recall([turn.resource_id for turn in session.window.all_turns() if not turn.is_gist])
    session.recall([])
    assert whole(session) == before


def test_a_recall_that_would_press_is_refused_with_both_numbers() -> None:
    """A recall above the high mark is refused with both token counts, and changes nothing."""
    session = add_all(session_of(700), chat(33, 20))
    session.compress()
    before = whole(session)
    everything = [turn.resource_id for turn in session.log()]
    with pytest.raises(ContextOverflowError) as caught:
        session.recall(everything)
    assert 490 < caught.value.max_tokens < 700
    assert caught.value.tokens >= sum(turn.tokens or 0 for turn in session.log()) > 700
    assert whole(session) == before


def test_a_gist_from_elsewhere_does_not_break_recall() -> None:
    """A turn that claims sources this log never had counts as itself."""
    session = compressed(
        Turn("user", "[Summary of 2 earlier messages]\nold", sources=("x1", "x2")),
        *chat(16, 20)[1:],
    )
    session.recall(["t5"])
    assert stands_verbatim(session, 4)
    with pytest.raises(UnknownResourceError):
        session.recall(["x1"])


@given(session_moves(), st.data())
def test_recall_is_valid_in_order_and_replayable(moves: list[Move], data: st.DataObject) -> None:
    """After any recalls the view is valid, within budget and in log order, and it replays."""
    session = ContextSession(4000, counter=FAST, auto=False, threshold=AdaptiveThreshold())
    for turn, resource_class in moves:
        if session.state is not ContextState.PRESSURED:
            try:
                session.add(turn, resource_class)
            except ContextOverflowError:
                break
    if session.state is ContextState.EMPTY:
        return
    session.compress(data.draw(st.sampled_from([0.0, 0.2])))
    known = [turn.resource_id for turn in (*session.log(), *session.window.all_turns())]
    wanted = data.draw(st.lists(st.sampled_from(known), max_size=4))
    try:
        session.recall(wanted)
    except ContextOverflowError as error:
        assert error.tokens > error.max_tokens
    else:
        standing = set(session.window.all_turns())
        # What was bound to another prefix cannot come back.
        assert all(
            standing & {turn, unbound(turn, FAST)}
            for turn in session.log()
            if turn.resource_id in wanted
        )
    places = {turn.resource_id: place for place, turn in enumerate(session.log())}
    view = [
        places[turn.resource_id]
        for turn in session.window.all_turns()
        if turn.resource_id in places
    ]
    assert view == sorted(view)
    assert len(view) == len(set(view))
    assert (
        replay(session.history.events(), Conversation(ContextWindow(4000, counter=FAST)))
        == session.conversation
    )
    for provider in Provider:
        if {turn.role for turn in session.window.all_turns()} != {"system"}:
            messages = session.request(provider, allow_open=True).messages
            get_format(provider).check(messages, allow_open_tail=True)
            assert provider is Provider.ANTHROPIC or recount(messages, FAST, provider) <= 4000


def test_an_automatic_session_makes_room_for_what_comes_back() -> None:
    """A recall that needs too much room is refused, even if its gist was merged meanwhile."""
    session = ContextSession(400, counter=WORDS)
    add_all(session, [Turn("user", "the task"), *chat(40, 30)])
    session.add_assistant_turn(words(375 - session.window.tokens, "long"))
    gist = next(turn for turn in session.window.all_turns() if turn.is_gist)
    before, epoch = session.conversation, session.window.epoch.number
    with pytest.raises(ContextOverflowError):
        session.recall([gist.resource_id])
    assert session.conversation == before
    session.recall([gist.sources[-1]])
    assert session.window.epoch.number > epoch
    assert gist.sources[-1] in ids(session)


@pytest.mark.parametrize("extra", [6, 12])
def test_an_automatic_session_recalls_while_it_is_pressured(extra: int) -> None:
    """It compresses first."""
    session = ContextSession(400)
    session.add_user_turn("Paint the house.")
    for number in range(60):
        said = f"Wall {number} is shade-{number * 37 % 101}." + " ok" * (extra * (number > 25))
        session.add_assistant_turn(said)
        if session.state is ContextState.PRESSURED and session.explain("t2").place is None:
            break
    assert session.state is ContextState.PRESSURED
    session.recall("t2")
    assert session.explain("t2").place is not None
