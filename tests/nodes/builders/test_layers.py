"""One layer by itself is what the node's builder holds, and prints as its layer does."""

import pytest

from polycontext.base import InvalidOptionError
from polycontext.nodes import (
    build_act_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
    format_conversation_for_prompt,
    format_entity_context,
    format_reasoning_for_prompt,
)
from polycontext.nodes.builders import (
    build_act_entity_context,
    get_conversation_with_engagement,
    get_current_curation,
    get_current_turn_steps,
    get_execution_outcomes,
    get_own_decision_history,
    get_recent_conversation,
)
from polycontext.nodes.entities import EntityContext, EntitySnapshot
from polycontext.nodes.history import ConversationHistory, ConversationTurn, Depth, PendingState
from polycontext.nodes.memory import ConversationContext, CurrentTurn, close_turn
from polycontext.nodes.reasoning import (
    CurationSummary,
    ReasoningTrace,
    StepSummary,
    TurnExecutionSummary,
)
from polycontext.polynomial import ContextSession
from tests.nodes.builders.material import lived

RECORDS: dict[type, str] = {
    EntityContext: "active generated retained",
    EntitySnapshot: "ref type label status turn_created turn_last_ref retention_reason",
    ConversationHistory: "recent_turns history_summary engagement_summary pending",
    ConversationTurn: "user assistant_summary routing timestamp",
    PendingState: "type context questions",
    ReasoningTrace: "recent_summaries reasoning_summary",
    TurnExecutionSummary: "turn_num think_decision think_goal steps entity_curation "
    "conversation_phase user_expressed blocked_reason",
    StepSummary: "step_num type subdomain description outcome entities_involved note",
    CurationSummary: "retained demoted reasons",
    ConversationContext: "recent_turns history_summary engagement_summary id_registry "
    "turn_summaries reasoning_summary content_archive understand_decision_log",
}
"""The fields that the contract of the three layers names.

`docs/decisions/2026-11-22-node-contexts.md` names the differences.
"""

OUTPUT, CONVERSATION, TURN = (LIVED := lived()).output, LIVED.conversation, LIVED.turn


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_record_has_the_fields_that_its_contract_names(record: type) -> None:
    """Under the same names."""
    assert not [name for name in RECORDS[record].split() if not hasattr(record, name)]


def test_act_s_layers() -> None:
    """Entities with full data, the last exchanges, the steps of this one."""
    act = build_act_context(OUTPUT, CONVERSATION, TURN)
    assert build_act_entity_context(CONVERSATION, TURN) == act.entity
    assert get_recent_conversation(OUTPUT, CONVERSATION) == act.conversation
    assert get_current_turn_steps(CONVERSATION, TURN) == act.reasoning
    text = format_entity_context(build_act_entity_context(CONVERSATION, TURN), "full_data")
    assert "ACTIVE-DATA" in text
    assert "RETAINED" not in text
    assert build_act_entity_context(CONVERSATION, CurrentTurn(11)).active
    assert not build_act_entity_context(CONVERSATION, CurrentTurn(11), active_turns=1).active


def test_reply_s_layers() -> None:
    """Reply gets the conversation with its theme, and the outcomes."""
    reply = build_reply_context(OUTPUT, CONVERSATION, TURN)
    assert get_conversation_with_engagement(OUTPUT, CONVERSATION) == reply.conversation
    assert get_execution_outcomes(CONVERSATION, TURN) == reply.reasoning
    assert "OUTCOME-NOW" in format_reasoning_for_prompt(
        get_execution_outcomes(CONVERSATION, TURN), "reply"
    )


def test_understand_s_and_think_s_layers() -> None:
    """Understand's own decisions exchange by exchange, and those of this exchange."""
    assert (
        get_own_decision_history(CONVERSATION)
        == build_understand_context(OUTPUT, CONVERSATION, TURN).reasoning
    )
    current = build_think_context(OUTPUT, CONVERSATION, TURN).reasoning.current
    assert current is not None
    assert get_current_curation(TURN) == current.entity_curation == TURN.curation
    assert "retained CURATED-3 (REASON-3)" in format_reasoning_for_prompt(
        get_own_decision_history(CONVERSATION), "understand"
    )


@pytest.mark.parametrize(
    ("depth", "there", "absent"),
    [(2, "SAID-9", "SAID-8"), (5, "SAID-6", "GOAL"), ("full", "SAID-1 ", "PENDING")],
)
def test_more_of_the_conversation_comes_with_its_depth(
    depth: Depth, there: str, absent: str
) -> None:
    """Depth 2 holds two exchanges; a greater depth adds the summary, never theme or questions."""
    history = get_recent_conversation(OUTPUT, CONVERSATION, depth)
    text = format_conversation_for_prompt(history)
    assert there in text
    assert absent not in text
    assert (history.engagement_summary, history.pending, bool(history.history_summary)) == (
        "",
        None,
        depth != 2,
    )
    with pytest.raises(InvalidOptionError):
        get_recent_conversation(OUTPUT, CONVERSATION, True)  # type: ignore[arg-type]


def test_a_closed_exchange_is_under_way_no_more() -> None:
    """Its steps are not shown as this exchange's; nothing at all is there at the beginning."""
    session = ContextSession(max_tokens=1000)
    session.add_user_turn("Soup?")
    turn = CurrentTurn(1).step("read", "recipes", "Find soups", outcome="found three")
    assert get_current_turn_steps(ConversationContext(), turn).current is not None
    closed = close_turn(ConversationContext(), turn, session.output)
    assert get_current_turn_steps(closed, turn).turns == ()
    assert [
        step.outcome for each in get_execution_outcomes(closed, turn).turns for step in each.steps
    ] == ["found three"]
    assert get_own_decision_history(ConversationContext()).curation_log == ()
    assert get_current_curation(CurrentTurn(1)).is_empty
