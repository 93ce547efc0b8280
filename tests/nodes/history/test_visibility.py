"""Layer 2 in a prompt: each depth its parts, and nothing that was said poses as the prompt."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes import get_conversation_history
from polycontext.nodes.history import (
    ConversationHistory,
    ConversationTurn,
    Depth,
    PendingState,
    format_conversation_for_prompt,
)
from tests.nodes.memory.records import SAID, exchanges, kitchen, pendings

GOLDEN = Path(__file__).parent / "golden"
OWN = re.compile(
    r"### (Engagement|Earlier|Recent turns|Pending)|(User|Routed|Assistant): .*|Waiting for .*"
    r"|> .*|- .*|\(nothing was said yet\)|"
)
HISTORY = ConversationHistory(
    [ConversationTurn(f"wish {number}", f"answer {number}") for number in range(7)],
    "user: EARLIER",
    "THEME",
    PendingState("clarify", "ASKED", ["QUESTION"]),
)


@pytest.mark.parametrize("depth", [2, 5, "full"])
def test_golden(depth: Depth) -> None:
    """The kitchen conversation prints the reviewed golden file of each depth."""
    lived = kitchen()
    history = get_conversation_history(lived.now)
    assert f"{format_conversation_for_prompt(history, depth)}\n" == (
        GOLDEN / f"{depth}.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("depth", "shown", "hidden"),
    [
        (2, ["wish 5", "answer 6"], ["wish 4", "EARLIER", "THEME", "ASKED", "QUESTION"]),
        (5, ["User: wish 2", "EARLIER", "> user: wish 1"], ["THEME", "ASKED", "QUESTION"]),
        ("full", ["User: wish 0", "EARLIER", "THEME", "ASKED", "- QUESTION", "clarify"], []),
    ],
)
def test_each_depth_shows_its_parts(depth: Depth, shown: list[str], hidden: list[str]) -> None:
    """Every cell of the table of depths, in both directions."""
    text = format_conversation_for_prompt(HISTORY, depth)
    assert [part for part in shown if part not in text] == []
    assert [part for part in hidden if part in text] == []


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
