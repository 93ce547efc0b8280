"""One layer by itself is what the node's builder holds, and prints as its layer does."""

import pytest
from attrs import evolve

from polycontext.nodes import (
    ConversationContext,
    Now,
)
from polycontext.nodes.builders.builder import (
    get_current_curation,
    get_current_turn_steps,
    get_execution_outcomes,
    get_own_decision_history,
)
from polycontext.nodes.entities.records import EntityContext, EntitySnapshot
from polycontext.nodes.history import (
    ConversationHistory,
    ConversationTurn,
    PendingState,
)
from polycontext.nodes.memory.current_exchange import CurrentTurn, close_exchange
from polycontext.nodes.reasoning import (
    CurationSummary,
    ReasoningTrace,
    StepSummary,
    TurnExecutionSummary,
)
from polycontext.polynomial import ContextSession
from tests.nodes.moments import now_of

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


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_record_has_the_fields_that_its_contract_names(record: type) -> None:
    """Under the same names."""
    assert not [name for name in RECORDS[record].split() if not hasattr(record, name)]


def test_a_closed_exchange_is_under_way_no_more() -> None:
    """Its steps are not shown as this exchange's; nothing at all is there at the beginning."""
    session = ContextSession(max_tokens=1000)
    session.add_user_turn("Soup?")
    turn = CurrentTurn(1).step("read", "recipes", "Find soups", outcome="found three")
    now = now_of(session, turn=turn)
    assert get_current_turn_steps(now).current is not None
    after = evolve(now, conversation=close_exchange(now.conversation, turn, None))
    assert get_current_turn_steps(after).turns == ()
    assert [
        step.outcome for each in get_execution_outcomes(after).turns for step in each.steps
    ] == ["found three"]
    beginning = Now(session.output)
    assert get_own_decision_history(beginning).curation_log == ()
    assert get_current_curation(beginning).is_empty
