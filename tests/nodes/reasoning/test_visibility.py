"""Layer 3 in a prompt: each node its own part, and nothing that was said poses as the prompt."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.nodes.reasoning import (
    ReasoningNode,
    ReasoningTrace,
    TurnCuration,
    TurnExecutionSummary,
    format_reasoning_for_prompt,
)
from tests.nodes.memory.records import SAID, curations, summaries

NODES: tuple[ReasoningNode, ...] = ("understand", "think", "act", "reply")
OWN = re.compile(
    r"### (Your decisions so far|Earlier reasoning|Conversation flow"
    r"|(Turn before|Last turn|This turn) \(turn \d+\))"
    r"|(Turn before|Last turn|Just accomplished): .*"
    r"|(Decided|Curation|BLOCKED|Phase|User expressed|  Outcome|  Note|  Entities): .*"
    r"|> .*|- .*|\(nothing happened yet\)|"
)


@given(
    st.lists(summaries(), max_size=2),
    SAID,
    st.none() | summaries(),
    st.lists(st.builds(TurnCuration, st.integers(0, 9), curations()), max_size=2),
    st.sampled_from(NODES),
)
def test_what_was_said_never_starts_a_line(
    recent: list[TurnExecutionSummary],
    earlier: str,
    current: TurnExecutionSummary | None,
    log: list[TurnCuration],
    node: ReasoningNode,
) -> None:
    """Whatever models and users say, every line starts with one of the prompt's own marks."""
    text = format_reasoning_for_prompt(ReasoningTrace(recent, earlier, current, log), node)
    assert [line for line in text.splitlines() if not OWN.fullmatch(line)] == []


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
