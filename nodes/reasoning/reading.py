"""Build layer 3 from what is remembered and the exchange under way (seed 003 layer 3)."""

from collections.abc import Sequence
from typing import Protocol

from polycontext.nodes.reasoning.summaries import ReasoningTrace, TurnCuration, TurnExecutionSummary


class RemembersReasoning(Protocol):
    """Stand for whatever remembers the closed exchanges: `ConversationContext`, or a store of your own."""

    @property
    def turn_summaries(self) -> Sequence[TurnExecutionSummary]:
        """Return the summaries of the last exchanges, oldest first."""
        ...

    @property
    def reasoning_summary(self) -> str:
        """Return what is left of the exchanges before them."""
        ...

    @property
    def understand_decision_log(self) -> Sequence[TurnCuration]:
        """Return what Understand decided, exchange by exchange, oldest first."""
        ...


class TurnUnderWay(Protocol):
    """Stand for an exchange that is not closed: `CurrentTurn`."""

    @property
    def summary(self) -> TurnExecutionSummary:
        """Return what happened in it so far."""
        ...


def get_reasoning_trace(conversation: RemembersReasoning, turn: TurnUnderWay | None = None) -> ReasoningTrace:
    """Build the reasoning trace from stored summaries and the exchange under way (seed 003 layer 3).

    A `turn` that was closed already is not shown twice.
    """
    recent = tuple(conversation.turn_summaries)
    current = None if turn is None else turn.summary
    if current is not None and any(summary.turn_num == current.turn_num for summary in recent):
        current = None
    return ReasoningTrace(recent, conversation.reasoning_summary, current, tuple(conversation.understand_decision_log))
