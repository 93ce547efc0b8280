"""The helpers that adapters share: message parts of every vendor, thoughts, request overhead."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from polycontext.adapters.blocks import (
    arguments_text,
    block,
    block_parts,
    content_of,
    own_blocks,
    picture,
    sent_tokens,
)
from polycontext.adapters.wire_dialect import ThinkingDialect, besides_of, learn_from
from polycontext.window import Turn, count_turn, default_counter
from polycontext.window.tokens.media_rules import FILM_TOKENS, PAGE_TOKENS

PNG = "iVBORw0KGgo="
PLUM = "https://example.org/plum.png"


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ({"type": "image_url", "image_url": {"url": PLUM}}, PLUM),
        ({"type": "input_image", "image_url": PLUM}, PLUM),
        ({"type": "image", "source": {"type": "url", "url": PLUM}}, PLUM),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PNG}},
            f"data:image/gif;base64,{PNG}",
        ),
        ({"type": "image", "base64": PNG}, f"data:image/png;base64,{PNG}"),
    ],
)
def test_a_picture_is_one_in_every_vendors_form(entry: dict[str, Any], url: str) -> None:
    """At its address, or with its data."""
    [part] = block_parts([{"type": "text", "text": "Which?"}, entry, "no block"])
    assert part == picture(url)


def test_files_recordings_thoughts_and_what_nobody_knows() -> None:
    """Each counts as what it is; where it stood in a stream is no part of it."""
    parts = [
        *block_parts(
            [
                {"type": "file", "base64": PNG, "mime_type": "application/pdf"},
                {"type": "audio", "data": PNG, "mime_type": "audio/wav"},
                {"type": "reasoning", "reasoning": "Plums.", "extras": {"signature": "c2ln"}},
                {"type": "reasoning", "summary": [], "encrypted_content": "ZW5j"},
                {"type": "thinking", "thinking": "Plums.", "signature": "c2ln", "index": 0},
                {"type": "citation", "at": 3},
            ]
        )
    ]
    assert [part.type for part in parts] == [
        "file",
        "input_audio",
        "thinking",
        "reasoning",
        "thinking",
        "citation",
    ]
    assert [part.is_medium for part in parts] == [True, True, False, False, False, False]
    assert [part.is_bound for part in parts] == [False, False, True, True, True, False]
    assert "index" not in json.loads(parts[4].data)
    assert [*block_parts("words")] == [*block_parts(None)] == []


def test_a_turn_is_words_or_blocks() -> None:
    """Words alone where it has no parts."""
    assert content_of(Turn("user", "Which?")) == "Which?"
    assert [
        each["type"]
        for each in content_of(Turn("user", "", parts=(picture(PLUM),)))
        if isinstance(each, dict)
    ] == ["image_url"]
    assert (arguments_text(None), arguments_text({"at": 1}), arguments_text("{")) == (
        "{}",
        '{"at": 1}',
        "{",
    )


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("image/png", "image"),
        ("video/mp4", "video"),
        ("application/pdf", "document"),
        (None, "document"),
    ],
)
def test_a_medium_that_only_a_framework_knows_counts_as_one(mime: str | None, kind: str) -> None:
    """And comes back as it was given."""
    own = {"inline": {"media_type": mime, "data": PNG}, "name": "plum"}
    turn = Turn("user", "So?", parts=(block("made-up", own, "inline"), picture(PLUM)))
    assert turn.parts[0].type == kind
    assert [*own_blocks(turn, "made-up")] == [own]


@pytest.mark.parametrize(
    ("entry", "least"),
    [
        ({"type": "video", "base64": "A" * 90_000, "mime_type": "video/mp4"}, FILM_TOKENS),
        ({"type": "media", "data": "A" * 80_000, "mime_type": "audio/mpeg"}, 300),
        ({"type": "media", "file_uri": PLUM, "mime_type": "application/pdf"}, PAGE_TOKENS),
        ({"type": "text-plain", "base64": "amFyIA==", "mime_type": "text/plain"}, 1),
    ],
)
def test_files_of_any_type_count_and_are_written_again(entry: dict[str, Any], least: int) -> None:
    """Their base64 is no text."""
    turn = Turn("user", "So?", parts=[*block_parts([entry])])
    assert least <= count_turn(default_counter(), turn) < least * 1.1 + 100
    assert content_of(turn)[0] == entry


def test_a_medium_inside_of_other_data_counts_as_one() -> None:
    """Its base64 is no text, however deep it stands."""
    own = {"found": {"files": [{"media_type": "application/pdf", "data": "JVBERi0x" * 9_000}]}}
    turn = Turn("user", "So?", parts=(block("made-up", own),))
    assert PAGE_TOKENS <= count_turn(default_counter(), turn) < 80_000
    assert [*own_blocks(turn, "made-up")] == [own]


def test_counts_of_frameworks() -> None:
    """Nothing where nothing is told."""
    assert sent_tokens(None) == sent_tokens({"input_token_count": None}) == {"input_tokens": 0}


# --- thoughts beside words --------------------------------------------------------------


def test_thoughts_beside_words_are_bound_and_come_back() -> None:
    """Of both vendors; fields that say them once more do not count."""
    thinking = {"type": "thinking", "thinking": "Plums.", "signature": "c2ln"}
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "ZW5j"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Which?"},
        {
            "role": "assistant",
            "content": "Plums.",
            "thinking_blocks": [thinking],
            "reasoning_content": "Plums.",
        },
        {"role": "assistant", "content": "Pears.", "reasoning_items": [reasoning], "refusal": None},
        {"role": "assistant", "content": "None.", "thinking_blocks": None},
    ]
    dialect = ThinkingDialect()
    turns = [piece.turn for piece in dialect.split(messages)]
    assert [[part.type for part in turn.parts] for turn in turns] == [
        [],
        ["thinking"],
        ["reasoning"],
        [],
    ]
    written = dialect.write(turns)
    assert [message.get("thinking_blocks") for message in written] == [None, [thinking], None, None]
    assert [message.get("reasoning_items") for message in written] == [
        None,
        None,
        [reasoning],
        None,
    ]
    assert all("reasoning_content" not in message for message in written)


# --- requests -----------------------------------------------------------------------------


def test_what_a_request_needs_besides() -> None:
    """Under each vendor's names; what is none is nothing."""
    assert besides_of(
        {"max_completion_tokens": 5, "max_tokens": 9, "instructions": "Be brief."}
    ) == {
        "tools": (),
        "reserve": 5,
        "system": "Be brief.",
    }
    blocks = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    assert (
        besides_of({"system": blocks, "tools": [{"name": "look"}]})["system"]
        == "Be brief.\nBe kind."
    )
    assert besides_of({"max_tokens": "many", "system": 5}) == {
        "tools": (),
        "reserve": 0,
        "system": None,
    }


def test_an_answer_that_is_no_json_teaches_nothing() -> None:
    """The SDK says so in its own words."""

    def broken() -> Any:
        raise ValueError

    learned: list[Any] = []
    fitted: Any = SimpleNamespace(learn=learned.append)
    answers: tuple[Callable[[], Any], ...] = (broken, lambda: [1], lambda: {"usage": {}})
    for told in answers:
        answer = SimpleNamespace(is_closed=True, is_success=True, json=told)
        assert learn_from(fitted, answer) is answer
    assert learn_from(fitted, "words") == "words"
    assert learned == [{"usage": {}}]
