"""Layer 3 is built from what is remembered and the turn under way."""

from attrs import evolve

from polycontext.nodes import get_reasoning_trace
from polycontext.nodes.memory.current_exchange import CurrentTurn
from tests.nodes.memory.records import kitchen


def test_the_trace_holds_the_last_turns_and_the_one_under_way() -> None:
    """The trace holds two closed turns, the older ones summarised, the current one and the log."""
    lived = kitchen()
    trace = get_reasoning_trace(lived.now)
    assert [turn.turn_num for turn in trace.turns] == [7, 8, 9]
    assert trace.current is not None
    assert trace.current.steps[0].outcome == "saved"
    assert "recipe_6 is the quickest" in trace.reasoning_summary
    assert [entry.turn_num for entry in trace.curation_log] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_closed_turn_is_not_shown_twice() -> None:
    """Between exchanges, the last one stands among the closed ones only."""
    trace = get_reasoning_trace(evolve(kitchen(2).now, turn=CurrentTurn(2)))
    assert trace.current is None
    assert [turn.turn_num for turn in trace.turns] == [1, 2]
