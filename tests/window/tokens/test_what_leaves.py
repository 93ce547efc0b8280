"""The count is never less than what is sent, for every format and any turns and parts."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polycontext.window.part import Part, PartKind
from polycontext.window.providers import Provider, get_format
from polycontext.window.tokens.counter import REQUEST_OVERHEAD, count_turn
from polycontext.window.tokens.tiktoken_counter import default_counter
from polycontext.window.turn import Role, Turn
from tests.laws.inputs import wire_turns
from tests.window.media_files import MEDIA_SHAPES, b64, png
from tests.window.providers.wire_messages import LONG, conversations
from tests.window.tokens.what_leaves import tokens_leaving

FORMS = MEDIA_SHAPES["forms"]
LARGE = f"data:image/png;base64,{b64(png(5_000, 4_000))}"
OWN: list[tuple[str, Any]] = [
    *((provider, block) for forms in FORMS.values() for provider, block in forms.items()),
    ("anthropic", {**FORMS["paper"]["anthropic"], "title": LONG}),
    (
        "anthropic",
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": LONG}},
    ),
    ("anthropic", {"type": "thinking", "thinking": LONG, "signature": b64(LONG.encode())}),
    ("openai", {"type": "image_url", "image_url": {"url": LARGE, "detail": "high"}}),
    (
        "openai",
        {"type": "input_audio", "input_audio": {"format": "wav", "data": b64(bytes(900))}},
    ),
    ("openai", {"type": "refusal", "refusal": LONG}),
    ("openai-responses", {"type": "input_image", "image_url": LARGE, "detail": "auto"}),
    (
        "openai-responses",
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": LONG}],
            "encrypted_content": "gAAA",
        },
    ),
]
"""Media, thoughts and refusals: blocks of a provider."""


def check(provider: Provider, turns: list[Turn]) -> None:
    """Compare what is told of `turns` with what leaves."""
    counter = default_counter()
    told = REQUEST_OVERHEAD + sum(count_turn(counter, turn) for turn in turns)
    messages = json.loads(json.dumps(get_format(provider).render(turns).inline()))
    assert tokens_leaving(counter, provider, messages) <= told


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize("source", Provider)
@given(data=st.data())
def test_no_conversation_leaves_with_more_than_is_told(
    provider: Provider, source: Provider, data: st.DataObject
) -> None:
    """A conversation that one provider took never costs another more than counted."""
    turns = get_format(source).parse(data.draw(conversations(source))).turns
    check(provider, [*turns])


@pytest.mark.parametrize("provider", Provider)
@pytest.mark.parametrize(("source", "block"), OWN)
def test_no_block_leaves_with_more_than_is_told(
    provider: Provider, source: str, block: Any
) -> None:
    """Nor does a medium, a thought or a refusal, also beside fields that hold much."""
    more = {"reasoning_content": LONG, "annotations": [{"title": LONG}], "extra_content": LONG}
    role = Role.ASSISTANT if {"thinking", "refusal", "summary"} & {*block} else Role.USER
    parts = [Part(source, json.dumps(more), PartKind.MESSAGE), Part(source, json.dumps(block))]
    check(provider, [Turn(Role.USER, "go on"), Turn(role, "So.", parts=parts)])


@pytest.mark.parametrize("provider", Provider)
@given(wire_turns())
@example([Turn(Role.USER, "")] * 50)
@example([Turn(Role.USER, "\n")] * 50)
def test_no_odd_turn_leaves_with_more_than_is_told(provider: Provider, turns: list[Turn]) -> None:
    """A turn with odd ids, names, arguments or blank text never costs more than counted."""
    check(provider, turns)
