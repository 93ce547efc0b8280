"""Parts say what they are, and refuse to be what they are not."""

from typing import Any

import pytest

from polycontext.window import InvalidTurnError, Part, PartKind, ToolCall, Turn

THOUGHT = Part("anthropic", '{"type": "thinking", "thinking": "so", "signature": "c2ln"}')
PICTURE = Part("openai", '{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}')


def test_a_block_knows_its_type() -> None:
    """A part knows its block's type and whether it is bound or a medium, or has no type."""
    assert (THOUGHT.type, THOUGHT.is_bound, THOUGHT.is_medium) == ("thinking", True, False)
    assert (PICTURE.type, PICTURE.is_bound, PICTURE.is_medium) == ("image_url", False, True)
    for data in ("no json", "[]", "{}", '{"type": 7}'):
        assert Part("openai", data).type == ""
    assert Part("openai", '{"type": "image_url"}', PartKind.MESSAGE).type == ""
    assert Turn("assistant", "So.", parts=[THOUGHT, PICTURE]).bound_providers == {"anthropic"}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("openai", None), "parts.data"),
        (("openai", "\ud800"), "parts.data"),
        (("openai", "{}", "verse"), "parts.kind"),
        (("openai", "{}", "words", -1), "parts"),
        (("openai", "{}", "words", True), "parts"),
        (("openai", "{}", "words", 0, 1.5), "parts"),
    ],
)
def test_what_is_no_part_is_refused(arguments: tuple[Any, ...], field: str) -> None:
    """By field."""
    with pytest.raises(InvalidTurnError) as refused:
        Part(*arguments)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "parts",
    [
        [Part("openai", "{}", "words", 0, 3)],
        [Part("openai", "{}", "words", 1, 2), Part("openai", "{}", "words", 0, 1)],
        [Part("openai", "{}", "call", 1)],
        [Part("openai", "{}", "call", 0), Part("openai", "{}", "call", 0)],
        ["a picture"],
        PICTURE,
    ],
)
def test_a_layout_places_what_the_turn_says_once(parts: Any) -> None:
    """Words within the text and in order, each call at most once, and parts that are parts."""
    legal = [
        Part("openai", "{}", "words", 0, 2),
        Part("openai", "{}", "call", 0),
        Part("anthropic", "{}", "words", 0, 2),
    ]
    assert Turn("assistant", "hi", tool_calls=[ToolCall("c", "look")], parts=legal).parts == tuple(
        legal
    )
    with pytest.raises(InvalidTurnError, match="parts"):
        Turn("assistant", "hi", tool_calls=[ToolCall("c", "look")], parts=parts)
