"""Closing a turn moves it into memory, and memory stays small."""

import pytest

from polycontext.nodes import get_conversation_history
from polycontext.nodes.entities import SessionIdRegistry
from polycontext.nodes.history import PendingState
from polycontext.nodes.memory import (
    ClosedTurnError,
    ConversationContext,
    CurrentTurn,
    Digest,
    close_turn,
)
from polycontext.nodes.reasoning import CurationSummary, TurnCuration
from polycontext.polynomial import ContextSession
from polycontext.window import default_counter
from tests.nodes.memory.records import kitchen
from tests.polynomial.conversations import text_of

PENDING = PendingState("propose", "Save it?", ["Under which name?"])


def _said(*pairs: tuple[str, str]) -> ContextSession:
    session = ContextSession(8000)
    for user, answer in pairs:
        session.add_user_turn(user)
        if answer:
            session.add_assistant_turn(answer)
    return session


def test_the_exchange_just_closed_joins_the_recent_ones() -> None:
    """Both sides, the routing and the time stand there, and nothing is under way any more."""
    session = _said(("Any soup?", "Three."))
    conversation = close_turn(
        ConversationContext(), CurrentTurn(1).route({"agent": "recipes"}), session.output
    )
    [turn] = conversation.recent_turns
    assert (turn.user, turn.assistant_summary, turn.routing) == (
        "Any soup?",
        "Three.",
        {"agent": "recipes"},
    )
    assert turn.timestamp == session.window.all_turns()[0].timestamp.isoformat()
    assert get_conversation_history(session.output, conversation).recent_turns == (turn,)


def test_long_words_are_condensed_to_their_bounds() -> None:
    """Neither side of a closed exchange can fill the prompts that keep it."""
    session = _said(
        (
            "I cook soup every day and like it very much. " * 90,
            "Soup is what it is, and so on and on. " * 90,
        )
    )
    [turn] = close_turn(ConversationContext(), CurrentTurn(1), session.output).recent_turns
    counter = default_counter()
    assert 0 < counter.count(turn.user) <= 300
    assert 0 < counter.count(turn.assistant_summary) <= 150


def test_the_oldest_leave_for_their_digests() -> None:
    """Five exchanges and two summaries stay; every older one is told of by its digest."""
    conversation = kitchen(8).conversation
    assert [turn.assistant_summary[8:16] for turn in conversation.recent_turns] == [
        f"recipe_{number}" for number in range(4, 9)
    ]
    assert [summary.turn_num for summary in conversation.turn_summaries] == [7, 8]
    assert conversation.history.added == 3
    assert "recipe_3" in conversation.history_summary
    assert conversation.reasoning.added == 6
    assert "blocked: CRUD failed: timeout" in conversation.reasoning_summary


def test_what_is_pending_is_set_and_cleared() -> None:
    """A turn that expects nothing clears what the one before expected."""
    session = _said(("Any soup?", "Save it?"))
    asked = close_turn(ConversationContext(), CurrentTurn(1).expects(PENDING), session.output)
    assert asked.pending == PENDING
    assert close_turn(asked, CurrentTurn(2), session.output).pending is None


def test_a_blocked_turn_is_closed_with_its_reason() -> None:
    """Its exchange is kept without an answer, and is not under way any more."""
    session = _said(("Any soup?", ""))
    conversation = close_turn(
        ConversationContext(), CurrentTurn(1).block("no database"), session.output
    )
    assert conversation.turn_summaries[0].blocked_reason == "no database"
    assert [turn.assistant_summary for turn in conversation.recent_turns] == [""]
    session.add_user_turn("And now?")
    assert [
        turn.user for turn in get_conversation_history(session.output, conversation).recent_turns
    ] == ["Any soup?", "And now?"]


def test_a_turn_in_which_nobody_spoke_is_closed_too() -> None:
    """A turn whose input was refused leaves its summary, and no exchange."""
    conversation = close_turn(
        ConversationContext(), CurrentTurn(1).block("too long"), ContextSession(100).output
    )
    assert (len(conversation.turn_summaries), conversation.recent_turns) == (1, ())


@pytest.mark.parametrize("turn_num", [1, 2])
def test_a_turn_is_closed_once_and_in_order(turn_num: int) -> None:
    """An older turn, or the same again, is refused with the legal numbers."""
    session = _said(("Any soup?", "Three."))
    conversation = close_turn(ConversationContext(), CurrentTurn(2), session.output)
    with pytest.raises(
        ClosedTurnError,
        match=f"turn {turn_num} cannot be closed after turn 2. Use a turn from 3",
    ):
        close_turn(conversation, CurrentTurn(turn_num), session.output)


def test_results_go_to_the_archive_by_step() -> None:
    """A step with a result can be read again later; one without leaves no key."""
    turn = (
        CurrentTurn(7)
        .step("read", "recipes", "Find", [{"name": "Soup"}])
        .step("analyze", "recipes", "Pick")
    )
    conversation = close_turn(ConversationContext(), turn, ContextSession(100).output)
    assert dict(conversation.content_archive) == {"turn_7_step_1": ({"name": "Soup"},)}


def test_decisions_are_logged_for_understand() -> None:
    """The last ten turns with a decision are there; a turn without one leaves no entry."""
    session, conversation = ContextSession(100), ConversationContext()
    for number in range(1, 13):
        conversation = close_turn(
            conversation, CurrentTurn(number).curate([f"recipe_{number}"]), session.output
        )
    conversation = close_turn(conversation, CurrentTurn(13), session.output)
    assert conversation.understand_decision_log == tuple(
        TurnCuration(n, CurationSummary([f"recipe_{n}"])) for n in range(3, 13)
    )


def test_the_theme_is_derived_or_stated() -> None:
    """Without a word of a model it follows from the turn; with one it is that."""
    output, turn = (
        ContextSession(100).output,
        CurrentTurn(1).observe(user_expressed="wants quick meals"),
    )
    assert (
        close_turn(ConversationContext(), turn, output).engagement_summary
        == "The user: wants quick meals."
    )
    assert (
        close_turn(ConversationContext(), turn, output, engagement="A dinner.").engagement_summary
        == "A dinner."
    )


def test_the_registry_is_kept() -> None:
    """Closing a turn leaves the entities alone."""
    registry, _ = SessionIdRegistry().read("recipes", "a1", "Soup", turn=1)
    conversation = ConversationContext().with_registry(registry)
    assert (
        close_turn(conversation, CurrentTurn(1), ContextSession(100).output).id_registry == registry
    )


def test_the_memory_does_not_grow_with_the_conversation() -> None:
    """Through compressions of the session, a hundred turns take about as many bytes as thirty."""
    session, conversation = (
        ContextSession(600),
        ConversationContext(history=Digest(200), reasoning=Digest(200)),
    )
    sizes = {}
    for number in range(1, 101):
        session.add_user_turn(f"And something quicker than recipe_{number}, please?")
        session.add_assistant_turn(f"I found recipe_{number + 1}, ready in {number} minutes.")
        turn = (
            CurrentTurn(number)
            .decide("plan_direct", "Find a soup")
            .step("read", "recipes", "Find", outcome=f"found recipe_{number}")
        )
        conversation = close_turn(conversation, turn, session.output)
        assert conversation.recent_turns[-1].user.endswith(f"recipe_{number}, please?")
        sizes[number] = len(conversation.to_json())
    assert conversation.history.added == 95
    assert sizes[100] < 1.3 * sizes[30]


def test_a_resumed_memory_goes_on_alike() -> None:
    """Saved and restored between two turns, memory and session go on to the very same bytes."""
    lived = kitchen(8)
    session = lived.session
    session.add_assistant_turn("Saved.")
    straight = close_turn(lived.conversation, lived.turn, session.output)
    resumed = close_turn(
        ConversationContext.from_json(lived.conversation.to_json()),
        CurrentTurn.from_json(lived.turn.to_json()),
        ContextSession.history.load(text_of(session)).output,
    )
    assert resumed.to_json() == straight.to_json()


def test_the_next_turn_follows_the_last_closed_one() -> None:
    """The first is 1."""
    assert ConversationContext().next_turn_num == 1
    assert kitchen(3).conversation.next_turn_num == 4
