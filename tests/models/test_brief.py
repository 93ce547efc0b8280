"""The fence around data in a brief: nothing in it can end it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.models import brief
from polycontext.models.brief import Excerpt, Fence, excerpts_of
from polycontext.window import Part, ToolCall, Turn

TEXTS = st.lists(st.text(alphabet="<>/ 0123456789\nconversation", max_size=80), max_size=5)


@given(TEXTS)
def test_its_mark_stands_nowhere_in_what_it_holds(texts: list[str]) -> None:
    """So the first line that ends it is its own; the same texts have the same mark."""
    fence = Fence.around(texts)
    assert all(fence.mark not in text for text in texts)
    assert Fence.around(texts) == fence
    wrapped = fence.wrap_excerpts("conversation", [Excerpt("user", text) for text in texts])
    assert wrapped.count(fence.mark) == 2 + len(texts)
    assert wrapped.index(f"</conversation {fence.mark}>") == len(wrapped) - len(
        f"</conversation {fence.mark}>"
    )


@pytest.mark.parametrize("left", range(10))
def test_a_mark_that_stands_there_is_not_taken(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    """The fence takes the only mark that does not occur in the text."""
    monkeypatch.setattr(brief, "_DIGITS", 1)
    assert Fence.around(["".join(str(digit) for digit in range(10) if digit != left)]).mark == str(
        left
    )


def test_what_turns_said_is_told_with_who_said_it() -> None:
    """A rendered turn names its speaker, calls with arguments, media kinds and earlier notes.

    Content that only the provider can read is left out.
    """
    picture = Part(
        "anthropic", '{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}'
    )
    thought = Part("anthropic", '{"type":"thinking","thinking":"secret","signature":"c2ln"}')
    turns = [
        Turn("system", "Be kind."),
        Turn("user", "[Summary of earlier messages]\nTask:\nCount.", sources=("t1", "t2")),
        Turn("user", "Look at this.", parts=[picture]),
        Turn(
            "assistant",
            "I look.",
            tool_calls=[ToolCall("c1", "look", '{"at": 1}'), ToolCall("c2", "look", "{}")],
            parts=[thought],
        ),
        Turn("tool", "a fish", tool_call_id="c1"),
        Turn("tool", "", tool_call_id="c2"),
    ]
    assert [(said.who, said.text) for said in excerpts_of(turns)] == [
        ("system", "Be kind."),
        ("earlier notes", "[Summary of earlier messages]\nTask:\nCount."),
        ("user", "Look at this.\n[image]"),
        ("assistant", 'I look.\ncalls look({"at": 1})\ncalls look({})'),
        ("result of a tool", "a fish"),
        ("result of a tool", ""),
    ]
