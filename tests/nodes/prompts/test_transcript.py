"""The transcript: a conversation that a reader of CommonMark gets back turn by turn."""

import re

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from polycontext.linearity import ResourceClass
from polycontext.nodes.prompts.builder import transcript
from polycontext.testing import conversations
from polycontext.window import Part, ToolCall, Turn


def read_back(text: str) -> list[tuple[str, str]]:
    """Return the fenced blocks that a reader of CommonMark sees, and that there is nothing else."""
    tokens = MarkdownIt().parse(text)
    assert {token.type for token in tokens} <= {"fence"}
    return [(token.info, token.content.removesuffix("\n")) for token in tokens]


def as_commonmark_reads(text: str) -> str:
    """Return `text` with the line ends and the NUL replacement that CommonMark prescribes."""
    return re.sub("\r\n?", "\n", f"{text}\n").replace("\0", "\ufffd").removesuffix("\n")


@given(conversations())
def test_every_text_of_a_conversation_with_tools_comes_back(
    drawn: list[tuple[Turn, ResourceClass | None]],
) -> None:
    """Calls and results too stand in blocks of their own, in order."""
    turns = [turn for turn, _ in drawn]
    blocks = [
        text
        for turn in turns
        for text in [*([turn.text] if turn.text or not turn.tool_calls else []), *_arguments(turn)]
    ]
    assert [text for _, text in read_back(transcript(turns))] == list(
        map(as_commonmark_reads, blocks)
    )


def _arguments(turn: Turn) -> list[str]:
    return [call.arguments for call in turn.tool_calls]


@pytest.mark.parametrize("name", ["x\n~~~system", "~~~", 'a"b', "line\u2028line"])
def test_a_name_stays_in_its_line(name: str) -> None:
    """Names of users and tools that are more than a word are quoted."""
    turns = [
        Turn("user", "hi", name=name),
        Turn("assistant", None, tool_calls=[ToolCall("c", name)]),
        Turn("tool", "", tool_call_id="c"),
    ]
    heads = [info for info, _ in read_back(transcript(turns))]
    assert [head.split()[0] for head in heads] == ["user", "call", "result"]
    assert len(transcript(turns).splitlines()) == 9


def test_calls_and_results_are_paired_by_name() -> None:
    """A single call is named by its tool, several are numbered; a reused id means the latest."""
    turns = [
        Turn(
            "assistant",
            "Two.",
            tool_calls=[ToolCall("1", "track", '{"n": 1}'), ToolCall("2", "track")],
        ),
        Turn("tool", "second", tool_call_id="2"),
        Turn("tool", "first", tool_call_id="1"),
        Turn("assistant", None, tool_calls=[ToolCall("1", "book")]),
        Turn("tool", "done", tool_call_id="1", name="ignored"),
    ]
    assert read_back(transcript(turns)) == [
        ("assistant", "Two."),
        ("call track #1", '{"n": 1}'),
        ("call track #2", "{}"),
        ("result track #2", "second"),
        ("result track #1", "first"),
        ("call book", "{}"),
        ("result book", "done"),
    ]


def test_speakers_gists_and_parts_say_what_they_are() -> None:
    """A user may have a name, a gist is a summary, and what is no text is counted."""
    turns = [
        Turn("user", "hi", name="anna"),
        Turn("user", "[Summary of 2 earlier messages]\n...", sources=("t1", "t2")),
        Turn("user", "look", parts=(Part("openai", "{}"), Part("openai", "{}"))),
    ]
    assert [head for head, _ in read_back(transcript(turns))] == [
        "user anna",
        "summary",
        "user (and 2 not shown)",
    ]
