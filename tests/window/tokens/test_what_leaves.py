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
from polycontext.window.turn import Role, ToolCall, Turn
from tests.laws.inputs import wire_turns
from tests.window.media_files import MEDIA_SHAPES, b64, png
from tests.window.tokens.what_leaves import tokens_leaving

LONG = "Every word of this leaves with the message and is billed. " * 40
texts = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    | st.text(' \n{}":#a\\', max_size=12)
    | st.just(LONG)
)
arguments = texts | st.dictionaries(
    texts, texts | st.floats(allow_nan=False, allow_infinity=False) | st.integers(), max_size=3
).map(json.dumps)

FORMS = MEDIA_SHAPES["forms"]
LARGE = f"data:image/png;base64,{b64(png(5_000, 4_000))}"
further_media: dict[str, list[Any]] = {
    "anthropic": [
        {**FORMS["paper"]["anthropic"], "title": LONG},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": LONG}},
    ],
    "openai": [
        {"type": "image_url", "image_url": {"url": LARGE, "detail": "high"}},
        {"type": "input_audio", "input_audio": {"format": "wav", "data": b64(bytes(900))}},
    ],
    "openai-responses": [{"type": "input_image", "image_url": LARGE, "detail": "auto"}],
}
media: dict[str, st.SearchStrategy[Any]] = {
    provider: st.sampled_from([*(form[provider] for form in FORMS.values()), *more])
    for provider, more in further_media.items()
}
bound: dict[str, st.SearchStrategy[Any]] = {
    "anthropic": st.builds(
        lambda text: {"type": "thinking", "thinking": text, "signature": b64(text.encode())}, texts
    ),
    "openai": st.builds(lambda text: {"type": "refusal", "refusal": text}, texts),
    "openai-responses": st.builds(
        lambda text: {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": "gAAA",
        },
        texts,
    ),
}
further = st.dictionaries(
    st.sampled_from(
        [
            "reasoning_content",
            "annotations",
            "reasoning_details",
            "extra_content",
            "citations",
            "caller",
        ]
    ),
    texts
    | st.lists(
        st.dictionaries(st.sampled_from(["text", "title", "type"]), texts, max_size=2), max_size=2
    ),
    max_size=2,
)


@st.composite
def laid_out_turns(draw: st.DrawFn) -> Turn:
    """Draw a turn with several messages, split words, calls and blocks, all with further fields."""
    provider = draw(st.sampled_from(sorted(media)))
    role = draw(st.sampled_from([Role.USER, Role.ASSISTANT]))
    pieces = draw(st.lists(texts, max_size=3))
    content = "\n".join(pieces) if pieces else None
    calls = (
        [
            ToolCall(f"c{i}", draw(texts) or "f", draw(arguments))
            for i in range(draw(st.integers(0, 2)))
        ]
        if role is Role.ASSISTANT
        else []
    )
    starts = [sum(len(piece) + 1 for piece in pieces[:index]) for index in range(len(pieces))]
    words = [
        Part(provider, "{}", PartKind.WORDS, start, start + len(piece))
        for start, piece in zip(starts, pieces, strict=True)
    ]
    placed = [
        *words,
        *(Part(provider, json.dumps(draw(further)), PartKind.CALL, i) for i in range(len(calls))),
    ]
    blocks = draw(
        st.lists(bound[provider] if role is Role.ASSISTANT else media[provider], max_size=2)
    )
    opened = (
        [Part(provider, json.dumps(draw(further)), PartKind.MESSAGE)] if draw(st.booleans()) else []
    )
    parts = [
        *opened,
        *(Part(provider, json.dumps(block)) for block in blocks),
        *(placed if draw(st.booleans()) else []),
    ]
    return Turn(
        role,
        content if content is not None or calls or parts else "",
        tool_calls=calls,
        parts=parts,
    )


def results(turn: Turn) -> list[Turn]:
    """Return an answer to every call of `turn`."""
    return [
        Turn(Role.TOOL, "", tool_call_id=call.id, metadata={"is_error": True})
        for call in turn.tool_calls
    ]


def check(provider: Provider, turns: list[Turn]) -> None:
    """Compare what is told of `turns` with what leaves."""
    counter = default_counter()
    told = REQUEST_OVERHEAD + sum(count_turn(counter, turn) for turn in turns)
    messages = json.loads(json.dumps(get_format(provider).render(turns).inline()))
    assert tokens_leaving(counter, provider, messages) <= told


@pytest.mark.parametrize("provider", Provider)
@given(st.lists(laid_out_turns(), min_size=1, max_size=3))
def test_no_turn_with_parts_leaves_with_more_than_is_told(
    provider: Provider, turns: list[Turn]
) -> None:
    """A turn with parts never costs more than counted, for any provider."""
    check(
        provider,
        [Turn(Role.USER, "go on"), *(each for turn in turns for each in (turn, *results(turn)))],
    )


@pytest.mark.parametrize("provider", Provider)
@given(wire_turns())
@example([Turn(Role.USER, "")] * 50)
@example([Turn(Role.USER, "\n")] * 50)
def test_no_odd_turn_leaves_with_more_than_is_told(provider: Provider, turns: list[Turn]) -> None:
    """A turn with odd ids, names, arguments or blank text never costs more than counted."""
    check(provider, turns)
