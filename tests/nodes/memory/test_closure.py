"""Closing a turn moves it into memory, and memory stays small."""

from polycontext.nodes import ConversationContext, get_conversation_history
from polycontext.nodes.history import ConversationTurn
from polycontext.nodes.memory.current_exchange import CurrentTurn, close_exchange
from polycontext.nodes.reasoning import CurationSummary, TurnCuration
from polycontext.polynomial import ContextSession
from polycontext.window import default_counter
from tests.nodes.builders.material import lived
from tests.nodes.moments import closed, now_of


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
    conversation = closed(
        ConversationContext(), CurrentTurn(1).route({"agent": "recipes"}), session
    )
    [turn] = conversation.recent_turns
    assert (turn.user, turn.assistant_summary, turn.routing) == (
        "Any soup?",
        "Three.",
        {"agent": "recipes"},
    )
    assert turn.timestamp == session.window.all_turns()[0].timestamp.isoformat()
    assert get_conversation_history(now_of(session, conversation)).recent_turns == (turn,)


def test_long_words_are_condensed_to_their_bounds() -> None:
    """Neither side of a closed exchange can fill the prompts that keep it."""
    session = _said(
        (
            "I cook soup every day and like it very much. " * 90,
            "Soup is what it is, and so on and on. " * 90,
        )
    )
    [turn] = closed(ConversationContext(), CurrentTurn(1), session).recent_turns
    counter = default_counter()
    assert 0 < counter.count(turn.user) <= 300
    assert 0 < counter.count(turn.assistant_summary) <= 150


def test_the_oldest_leave_for_the_summaries() -> None:
    """Five exchanges and two summaries stay; every older one is told of by its summary."""
    conversation = lived().conversation
    assert [turn.assistant_summary for turn in conversation.recent_turns] == [
        f"ANSWERED-{number}, gladly." for number in range(5, 10)
    ]
    assert [summary.turn_num for summary in conversation.turn_summaries] == [8, 9]
    assert "SAID-4" in conversation.history_summary
    assert "GOAL-7" in conversation.reasoning_summary


def test_a_blocked_turn_is_closed_with_its_reason() -> None:
    """Its exchange is kept without an answer, and its reason in the summary of older ones."""
    session = _said(("Any soup?", ""))
    conversation = closed(ConversationContext(), CurrentTurn(1).block("no database"), session)
    assert conversation.turn_summaries[0].blocked_reason == "no database"
    assert [turn.assistant_summary for turn in conversation.recent_turns] == [""]
    for number in (2, 3):
        conversation = close_exchange(conversation, CurrentTurn(number), None)
    assert "blocked: no database" in conversation.reasoning_summary


def test_decisions_are_logged_for_understand() -> None:
    """The last ten turns with a decision are there; a turn without one leaves no entry."""
    session, conversation = ContextSession(100), ConversationContext()
    for number in range(1, 13):
        conversation = closed(
            conversation, CurrentTurn(number).curate([f"recipe_{number}"]), session
        )
    conversation = closed(conversation, CurrentTurn(13), session)
    assert conversation.understand_decision_log == tuple(
        TurnCuration(n, CurationSummary([f"recipe_{n}"])) for n in range(3, 13)
    )


def test_the_theme_is_derived_or_stated() -> None:
    """Without a word of a model it follows from the turn; with one it is that."""
    turn = CurrentTurn(1).observe(user_expressed="wants quick meals")
    conversation = close_exchange(ConversationContext(), turn, None)
    assert conversation.engagement_summary == "The user: wants quick meals."
    stated = conversation.summarize("A dinner.")
    assert stated.engagement_summary == "A dinner."
    assert close_exchange(stated, CurrentTurn(2), None).engagement_summary.startswith("The user:")


def test_a_model_s_summary_replaces_the_lines_before_it() -> None:
    """Exchanges that leave the recent ones later are added behind it; its length is bounded."""
    conversation = lived().conversation.summarize("soup", "They looked for soup. ", "found it")
    assert conversation.history_summary == "They looked for soup."
    assert conversation.reasoning_summary == "found it"
    later = close_exchange(conversation, CurrentTurn(10), ConversationTurn("More?", "No."))
    assert later.history_summary.startswith("They looked for soup.\nuser: ")
    assert later.reasoning_summary.startswith("found it\nTurn 8 (plan_direct): GOAL-8")
    long = conversation.summarize("", "And so on with soup. " * 900).history_summary
    assert default_counter().count(long) <= 300


def test_the_memory_does_not_grow_with_the_conversation() -> None:
    """Through compressions of the session, a hundred turns take about as many bytes as thirty."""
    session, conversation = (
        ContextSession(600),
        ConversationContext(),
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
        conversation = closed(conversation, turn, session)
        assert conversation.recent_turns[-1].user.endswith(f"recipe_{number}, please?")
        sizes[number] = len(repr(conversation))
    assert sizes[100] < 1.3 * sizes[30]
