"""Layer 3 in a prompt: each node its own part, and nothing that was said poses as the prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.nodes.reasoning import (
    ReasoningNode,
    ReasoningTrace,
    TurnExecutionSummary,
    format_reasoning_for_prompt,
)
from tests.nodes.memory.records import summaries

NODES: tuple[ReasoningNode, ...] = ("understand", "think", "act", "reply")


@given(summaries(), st.sampled_from(["think", "act", "reply"]))
def test_why_a_turn_was_blocked_is_shown_wherever_the_turn_is(
    turn: TurnExecutionSummary, node: ReasoningNode
) -> None:
    """Every node that sees a blocked turn is told why it was blocked."""
    text = format_reasoning_for_prompt(ReasoningTrace(current=turn), node)
    assert ("BLOCKED: " in text) is (turn.blocked_reason is not None)


@pytest.mark.parametrize("node", NODES)
def test_an_empty_trace_says_so(node: ReasoningNode) -> None:
    """Every node is told that nothing happened yet."""
    assert format_reasoning_for_prompt(ReasoningTrace(), node) == "(nothing happened yet)"


def test_another_node_is_refused() -> None:
    """The legal nodes are named."""
    with pytest.raises(
        InvalidOptionError, match=r"^node = 'plan'. Use understand, think, act, reply"
    ):
        format_reasoning_for_prompt(ReasoningTrace(), "plan")  # type: ignore[arg-type]
