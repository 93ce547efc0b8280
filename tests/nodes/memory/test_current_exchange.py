"""The turn under way grows by one thing at a time, and never changes in place."""

import copy
import pickle

import pytest

from polycontext.base import InvalidDataError
from polycontext.nodes.history import PendingState
from polycontext.nodes.memory.current_exchange import CurrentTurn
from polycontext.nodes.reasoning import ConversationPhase, CurationSummary, ThinkDecision
from polycontext.window import default_counter
from tests.nodes.builders.material import lived


def test_each_method_adds_one_thing() -> None:
    """Each report of Understand, Think and Act returns a new turn; the old one is unchanged."""
    turn = CurrentTurn(4)
    pending = PendingState("propose", "Save it?")
    after = (
        turn.route({"agent": "recipes"})
        .curate(["recipe_1"])
        .observe(phase="narrowing")
        .decide("propose", "Save")
        .expects(pending)
    )
    assert turn == CurrentTurn(4)
    assert after == CurrentTurn(
        4,
        ThinkDecision.PROPOSE,
        "Save",
        curation=CurationSummary(["recipe_1"]),
        phase=ConversationPhase.NARROWING,
        pending=pending,
        routing={"agent": "recipes"},
    )


def test_why_a_turn_was_blocked_is_kept_in_a_bound() -> None:
    """An ordinary block reason is kept verbatim; a very long one is shortened."""
    reason = "CRUD failed: timeout | db_create on inventory: sugar, onions"
    assert CurrentTurn(1).block(reason).blocked_reason == reason
    long = CurrentTurn(1).block("nothing to see in this line\n" * 900 + reason).blocked_reason
    assert long is not None
    assert default_counter().count(long) <= 300
    with pytest.raises(InvalidDataError, match=r"^blocked_reason: int is not text"):
        CurrentTurn(1).block(3)  # type: ignore[arg-type]


def test_a_turn_and_a_memory_can_be_pickled_and_copied() -> None:
    """Frameworks that checkpoint their state by pickle or deepcopy get an equal one."""
    here = lived()
    for record in (here.turn, here.conversation):
        assert pickle.loads(pickle.dumps(record)) == record == copy.deepcopy(record)  # noqa: S301
        assert hash(copy.deepcopy(record)) == hash(record)


def test_the_summary_drops_results_and_keeps_the_model_s_own_outcome() -> None:
    """A step keeps its own outcome or gets a count; results are dropped, a block reason kept."""
    turn = (
        CurrentTurn(2)
        .step("read", "recipes", "Find", [{}, {}])
        .step("analyze", "recipes", "Pick", outcome="the second")
        .block("no database")
    )
    summary = turn.summary
    assert [step.outcome for step in summary.steps] == ["read 2 recipes", "the second"]
    assert not hasattr(summary.steps[0], "result")
    assert (summary.turn_num, summary.blocked_reason, summary.think_decision) == (
        2,
        "no database",
        None,
    )
