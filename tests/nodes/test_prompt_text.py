"""Quoted text is printed as data that never reaches the start of a line."""

import re
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes.builders import Section
from polycontext.nodes.builders.budget import NOTHING, NodeBudgetError, fit
from polycontext.nodes.history import (
    ConversationHistory,
    ConversationTurn,
    Depth,
    conversation_parts,
    format_conversation_for_prompt,
)
from polycontext.nodes.prompt_text import quote
from polycontext.nodes.reasoning import (
    ReasoningNode,
    ReasoningTrace,
    TurnCuration,
    format_reasoning_for_prompt,
    reasoning_parts,
)
from polycontext.testing import FAST
from tests.nodes.memory.records import SAID, curations, exchanges, pendings, summaries

OWN = re.compile(
    r"### (Engagement|Earlier|Recent turns|Pending)|(User|Routed|Assistant): .*|Waiting for .*"
    r"|### (Your decisions so far|Earlier reasoning|Conversation flow"
    r"|(Turn before|Last turn|This turn) \(turn \d+\))"
    r"|(Turn before|Last turn|Just accomplished): .*"
    r"|(Decided|Curation|BLOCKED|Phase|User expressed|  Outcome|  Note|  Entities): .*"
    r"|> .*|- .*|\(nothing (was said|happened) yet\)|"
)
HEADINGS = [*(f"## {section}" for section in Section), "---", "## Your Task"]
TRACES = st.builds(
    ReasoningTrace,
    st.lists(summaries(), max_size=2),
    SAID,
    st.none() | summaries(),
    st.lists(st.builds(TurnCuration, st.integers(0, 9), curations()), max_size=2),
)


@given(SAID)
def test_quoting_keeps_the_words(text: str) -> None:
    """Nothing but white space and the mark is added or lost."""
    assert quote(text).replace("\n> ", " ").split() == text.split()


@given(
    st.builds(
        ConversationHistory, st.lists(exchanges(), max_size=3), SAID, SAID, st.none() | pendings()
    ),
    TRACES,
    st.sampled_from([2, 5, "full"]),
    st.sampled_from(["understand", "think", "act", "reply"]),
)
def test_what_was_said_never_starts_a_line(
    history: ConversationHistory, trace: ReasoningTrace, depth: Depth, node: ReasoningNode
) -> None:
    """Whatever users and models say, every line starts with one of the prompt's own marks."""
    conversation = format_conversation_for_prompt(history, depth)
    text = f"{conversation}\n{format_reasoning_for_prompt(trace, node)}"
    assert [line for line in text.splitlines() if not OWN.fullmatch(line)] == []
    assert len(re.findall(r"^### ", conversation, re.MULTILINE)) <= 4


@given(st.lists(SAID, min_size=1, max_size=12), TRACES, st.integers(120, 400))
def test_what_is_cut_poses_as_no_part_of_the_prompt(
    said: list[str], trace: ReasoningTrace, budget: int
) -> None:
    """A text that is shortened to fit cannot be taken for a heading, either."""
    history = ConversationHistory(
        [ConversationTurn(text, f"{text} again") for text in said], "\n".join(said), said[0]
    )
    sections = {
        section: [entry for part in parts for entry in part.entries]
        for section, parts in (
            (Section.CONVERSATION, conversation_parts(history)),
            (Section.REASONING, reasoning_parts(trace)),
        )
    }
    with suppress(NodeBudgetError):
        lines = fit("critic", sections, "Say it.", budget, FAST)[0].splitlines()
        own = {*HEADINGS, NOTHING, "Say it."}
        assert [
            line for line in lines if not (line[:1] == "[" or OWN.fullmatch(line) or line in own)
        ] == []
        assert [line for line in lines if line in HEADINGS] == HEADINGS


def test_silence_is_said() -> None:
    """So that the heading above it is not left alone."""
    assert format_conversation_for_prompt(ConversationHistory()) == "(nothing was said yet)"
