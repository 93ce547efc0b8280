"""Everything that a part holds counts, but the payload of media."""

import json
from typing import Any

import pytest

from polycontext.window.part import Part, PartKind
from polycontext.window.tokens.counter import count_part
from polycontext.window.tokens.media_rules import AUDIO_TOKENS, IMAGE_TOKENS, PAGE_TOKENS
from polycontext.window.tokens.part_text import part_text
from polycontext.window.tokens.tiktoken_counter import default_counter
from tests.growth import BOUND, growth
from tests.window.media_files import b64, pdf, png, wave

PNG = png(640, 480, 3_000)
PNG_TOKENS = 738
LONG = "the model reads every word of this. " * 2_000


def part(block: Any, kind: PartKind = PartKind.BLOCK) -> Part:
    """Make a part of JSON data."""
    return Part("anthropic", json.dumps(block), kind)


def test_what_no_model_is_known_to_read_as_a_medium_counts_as_text() -> None:
    """Only the payload of a medium is cut out; other fields count as text."""
    block = {
        "type": "image",
        "title": "x" * 900,
        "tiles": [b64(PNG)],
        "source": {"type": "base64", "data": b64(PNG)},
    }
    (text, *_), media = part_text(part(block))
    assert (json.loads(text), media) == (
        block | {"source": {"type": "base64", "data": ""}},
        PNG_TOKENS,
    )
    beside = {
        "type": "input_image",
        "image_url": "data:image/png;base64," + b64(PNG),
        "url": LONG,
        "data": "data:," + LONG,
    }
    assert json.loads(part_text(part(beside))[0][0]) == beside | {"image_url": ""}


@pytest.mark.parametrize(
    ("block", "media"),
    [
        (
            {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}},
            IMAGE_TOKENS,
        ),
        ({"type": "image_url", "image_url": None}, IMAGE_TOKENS),
        ({"type": "input_image", "file_id": "file-1"}, IMAGE_TOKENS),
        ({"type": "document", "source": {"type": "base64", "data": b64(pdf(2))}}, 2 * PAGE_TOKENS),
        ({"type": "file", "file": {"file_id": "file-1"}}, PAGE_TOKENS),
        ({"type": "input_audio", "input_audio": {"data": b64(wave(10)), "format": "wav"}}, 200),
        (
            {
                "type": "document",
                "source": {
                    "type": "content",
                    "content": [{"type": "image", "source": {"data": b64(PNG)}}],
                },
            },
            PNG_TOKENS,
        ),
        (
            {
                "type": "web_fetch_result",
                "content": {"type": "document", "source": {"type": "base64", "data": b64(pdf(1))}},
            },
            PAGE_TOKENS,
        ),
    ],
)
def test_media_cost_their_rule(block: dict[str, Any], media: int) -> None:
    """Links and uploads cost a flat price, pages and seconds their own; nested media are found."""
    assert part_text(part(block))[1] == media


@pytest.mark.parametrize(
    "data",
    [
        '"image"',
        '{"source":"image"}',
        '{"type": "image"',
        '{"source": "image"}',
        "[" * 100_000 + '"image"',
        "not json",
        '{"type":"image","x":NaN}',
    ],
)
def test_what_only_looks_like_a_medium_counts_as_text(data: str) -> None:
    """Broken, too deep or unrelated JSON that mentions an image is text."""
    assert part_text(Part("anthropic", data)) == ((data,), 0)


def test_an_assistants_recording_is_billed_with_its_transcript() -> None:
    """A recording costs a minute by id or its own seconds, plus the words of its transcript."""
    known = part({"audio": {"id": "audio_1", "transcript": LONG}}, PartKind.MESSAGE)
    assert part_text(known)[1] == AUDIO_TOKENS
    assert count_part(default_counter(), known) > AUDIO_TOKENS + default_counter().count(LONG)
    (text,), media = part_text(
        part({"audio": {"id": "audio_1", "data": b64(wave(5))}}, PartKind.MESSAGE)
    )
    assert (len(text) < 100, media) == (True, 100)


@pytest.mark.gate
def test_a_huge_part_is_counted_in_linear_time() -> None:
    """The payload is looked at, not decoded, and never counted as text."""
    block = '{"type":"image","source":{"type":"base64","data":"%s"}}'
    assert (
        part_text(Part("anthropic", block % (b64(png(64, 64)) + "A" * 20_000_000)))[1]
        == IMAGE_TOKENS
    )
    head = b64(png(64, 64))
    assert (
        growth(
            lambda length: part_text(Part("anthropic", block % (head + "A" * length))), 4_000_000
        )
        < BOUND
    )


@pytest.mark.parametrize("frames", [1, 12])
def test_a_film_given_as_its_pictures_costs_what_they_cost(frames: int) -> None:
    """Compatible servers take a list of data URLs, or one of a whole film."""
    url = "data:image/png;base64," + b64(PNG)
    texts, tokens = part_text(part({"type": "video", "video": [url] * frames}))
    assert tokens == frames * PNG_TOKENS
    assert b64(PNG) not in texts[0]
    whole = {"type": "video", "video": "data:video/mp4;base64," + b64(bytes(9_000))}
    link = {"type": "video", "video": "https://example.org/film.mp4"}
    assert part_text(part(whole))[1] == part_text(part(link))[1] > PNG_TOKENS
    assert len(part_text(part(whole))[0][0]) < 99
