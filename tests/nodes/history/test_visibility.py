"""Layer 2 in a prompt: each depth its parts, and nothing that was said poses as the prompt."""

import re

from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes.history import (
    ConversationHistory,
    ConversationTurn,
    Depth,
    PendingState,
    format_conversation_for_prompt,
)
from tests.nodes.memory.records import SAID, exchanges, pendings

OWN = re.compile(
    r"### (Engagement|Earlier|Recent turns|Pending)|(User|Routed|Assistant): .*|Waiting for .*"
    r"|> .*|- .*|\(nothing was said yet\)|"
)


@given(
    st.lists(exchanges(), max_size=3),
    SAID,
    SAID,
    st.none() | pendings(),
    st.sampled_from([2, 5, "full"]),
)
def test_what_was_said_never_starts_a_line(
    turns: list[ConversationTurn],
    earlier: str,
    theme: str,
    pending: PendingState | None,
    depth: Depth,
) -> None:
    """Whatever users and models say, every line starts with one of the prompt's own marks."""
    text = format_conversation_for_prompt(
        ConversationHistory(turns, earlier, theme, pending), depth
    )
    assert [line for line in text.splitlines() if not OWN.fullmatch(line)] == []
    assert len(re.findall(r"^### ", text, re.MULTILINE)) <= 4


def test_an_empty_history_says_so() -> None:
    """Silence is said, so that the heading above it is not left alone."""
    assert format_conversation_for_prompt(ConversationHistory(), "full") == "(nothing was said yet)"
