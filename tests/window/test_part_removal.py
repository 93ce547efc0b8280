"""Parts are removed before words: bound parts with their prefix, pictures leave a line."""

import json

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.testing import FAST
from polycontext.testing.strategies import PICTURES, THOUGHTS
from polycontext.window import Part, PartKind, ToolCall, Turn
from polycontext.window.part_removal import bare, says_all_of, unbound
from polycontext.window.tokens.counter import count_turn, counted_parts

THOUGHT = Part(
    "anthropic", json.dumps({"type": "thinking", "thinking": "so be it " * 20, "signature": "c2ln"})
)
PICTURE = Part(
    "anthropic",
    json.dumps({"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}}),
)
CALL = ToolCall("c1", "look", "{}")


def counted(turn: Turn) -> Turn:
    """Return `turn` as a window admits it."""
    turn = counted_parts(FAST, evolve(turn, resource_id="t1"))
    return turn.with_tokens(count_turn(FAST, turn))


TURNS = st.builds(
    lambda words, calls, parts: counted(Turn("assistant", words, tool_calls=calls, parts=parts)),
    st.sampled_from(["", "Let me look.", "word " * 50]),
    st.sampled_from([(), (CALL,)]),
    st.lists(THOUGHTS | PICTURES, max_size=4).map(tuple),
)


@given(TURNS)
def test_words_and_calls_stay_and_tokens_never_rise(turn: Turn) -> None:
    """Whatever falls; twice is once, and no part that is taken off is counted too little."""
    for less in (unbound(turn, FAST), bare(turn, FAST)):
        assert says_all_of(less, turn)
        assert (less.tokens or 0) <= (turn.tokens or 0)
        assert not any(part.is_bound for part in less.parts)
    assert unbound(unbound(turn, FAST), FAST) == unbound(turn, FAST)
    assert bare(bare(turn, FAST), FAST) == bare(turn, FAST)
    less = unbound(turn, FAST)
    assert (less.tokens or 0) >= count_turn(FAST, less)


def test_a_picture_leaves_a_line_that_says_what_it_was_and_whence_to_recall_it() -> None:
    """The words come first."""
    turn = bare(counted(Turn("user", "What is this?", parts=[PICTURE])), FAST)
    assert turn.parts == ()
    assert turn.text.startswith("What is this?\n[image")
    assert turn.text.endswith("left out; recall t1]")


def test_equal_pictures_share_a_line() -> None:
    """Twenty frames of one film need not say so twenty times."""
    turn = bare(counted(Turn("user", "Frames.", parts=[PICTURE] * 20)), FAST)
    assert turn.text.count("\n") == 1
    assert "20 x image" in turn.text


def test_a_picture_that_costs_less_than_its_line_stays() -> None:
    """Yielding is for room."""
    small = Part("anthropic", json.dumps({"type": "odd"}))
    turn = counted(Turn("user", "Hm.", parts=[small]))
    assert bare(turn, FAST) is turn


def test_a_turn_of_thinking_alone_leaves_a_line() -> None:
    """No provider takes an empty turn."""
    turn = unbound(counted(Turn("assistant", None, parts=[THOUGHT])), FAST)
    assert turn.text == "[thinking, left out]"


def test_what_is_no_block_falls_with_the_parts_but_a_call_keeps_its_fields() -> None:
    """A call's own fields (a signature of its thought) are asked for as long as the call stands."""
    call = Part(
        "openai", '{"extra_content": {"google": {"thought_signature": "c2ln"}}}', PartKind.CALL
    )
    turn = counted(
        Turn(
            "assistant",
            "Let me look.",
            tool_calls=[CALL],
            parts=[PICTURE, Part("openai", "{}", PartKind.WORDS, 0, 3), call],
        )
    )
    assert bare(turn, FAST).parts == (call,)


def test_a_call_loses_the_id_that_tied_it_to_its_reasoning() -> None:
    """The provider refuses the one without the other."""
    reasoning = Part(
        "openai-responses",
        json.dumps({"type": "reasoning", "id": "rs_1", "encrypted_content": "ZW5j"}),
    )
    call = Part("openai-responses", '{"id": "fc_1", "status": "completed"}', PartKind.CALL)
    turn = unbound(
        counted(Turn("assistant", None, tool_calls=[CALL], parts=[reasoning, call])), FAST
    )
    assert [json.loads(part.data) for part in turn.parts] == [{"status": "completed"}]
