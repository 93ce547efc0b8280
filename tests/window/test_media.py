"""A medium is read from the head of its payload, and any input gives a result."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.window.media import KINDS, MediumKind, describe_medium, read_medium
from polycontext.window.media_sizes import count_pages, image_size
from polycontext.window.part import Part
from tests.window.media_files import MEDIA_SHAPES, b64, gif, jpeg, pdf, png, wave, webp

sides = st.integers(1, 16_383)
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from([b64(png(2, 2)), "data:image/png;base64,", "data:,", "https://a/b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "source",
                    "data",
                    "url",
                    "image_url",
                    "file",
                    "file_data",
                    "input_audio",
                    "media_type",
                    "audio",
                    "filename",
                    "content",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


def image(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    """Return Anthropic's block of a picture."""
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": b64(data)},
    }


def line(block: object) -> str:
    """Return the line that `block` leaves."""
    return describe_medium(Part("anthropic", json.dumps(block)))


@pytest.mark.parametrize(
    ("make", "media_type"),
    [
        (png, "image/png"),
        (gif, "image/gif"),
        (jpeg, "image/jpeg"),
        (webp, "image/webp"),
        (lambda w, h: webp(w, h, form=b"VP8 "), "image/webp"),
        (lambda w, h: webp(w, h, form=b"VP8L"), "image/webp"),
        (lambda w, h: jpeg(w, h, before=500_000), "image/jpeg"),
    ],
)
@given(width=sides, height=sides)
def test_every_format_names_its_size(make: Any, media_type: str, width: int, height: int) -> None:
    """PNG, JPEG, GIF and the three WebP forms give width and height."""
    medium = read_medium(image(make(width, height)))
    assert medium is not None
    assert (medium.media_type, medium.width, medium.height) == (media_type, width, height)


@given(
    st.sampled_from(
        [
            png(5, 5),
            gif(5, 5),
            jpeg(5, 5),
            webp(5, 5),
            webp(5, 5, form=b"VP8 "),
            webp(5, 5, form=b"VP8L"),
        ]
    ),
    st.data(),
)
def test_a_cut_or_damaged_head_gives_a_size_or_none(data: bytes, draw: st.DataObject) -> None:
    """Whatever is cut off or overwritten, nobody fails, and a size is never one of no pixels."""
    cut = bytearray(data[: draw.draw(st.integers(0, len(data)))])
    if cut:
        cut[draw.draw(st.integers(0, len(cut) - 1))] = draw.draw(st.integers(0, 255))
    found = image_size(bytes(cut))
    assert found is None or (found.width > 0 and found.height > 0)


@pytest.mark.parametrize("row", MEDIA_SHAPES["sizes"])
def test_the_size_is_found_however_a_picture_travels(row: dict[str, Any]) -> None:
    """Data URLs, both alphabets of base64 and line breaks are read; what is nowhere is unknown."""
    medium = read_medium(row["block"])
    assert medium is not None
    assert [medium.width, medium.height] == row["size"]


@given(st.integers(1, 80), st.booleans())
def test_pages_of_a_pdf_are_counted_where_they_hide(pages: int, packed: bool) -> None:
    """Page objects are found in the clear and in compressed streams."""
    assert count_pages(pdf(pages, packed=packed)) == pages
    medium = read_medium(
        {"type": "document", "source": {"type": "base64", "data": b64(pdf(pages, packed=packed))}}
    )
    assert medium is not None
    assert (medium.media_type, medium.pages) == ("application/pdf", pages)


def test_a_pdf_whose_streams_stay_closed_has_unknown_pages() -> None:
    """A PDF with unreadable streams has only the page count that its page tree states."""
    locked = pdf(3, packed=True).replace(b"stream\n", b"stream\n?")
    assert count_pages(locked) is None
    assert count_pages(pdf(1) + locked) == 1
    assert count_pages(pdf(0, promised=12) + locked) == 12
    assert count_pages(b"%PDF-1.7 << /Type /Page >>" + locked) is None


@pytest.mark.parametrize("row", MEDIA_SHAPES["texts"])
def test_a_text_document_says_its_words(row: dict[str, Any]) -> None:
    """Text travels plain, in a data URL or as base64; what is not UTF-8 is no text."""
    medium = read_medium(row["block"])
    assert medium is not None
    assert medium.text == row["text"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (image(png(640, 480)), "[image/png, 640 x 480, left out]"),
        (
            {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
            "[image, left out]",
        ),
        (
            {"type": "document", "title": "Report [1]\n", "source": {"data": b64(pdf(1))}},
            "[application/pdf, Report 1, 1 page, left out]",
        ),
        (
            {"type": "file", "file": {"filename": "a.docx", "file_data": b64(bytes(2_500))}},
            "[document, a.docx, 2.5 kB, left out]",
        ),
        (
            {"type": "input_audio", "input_audio": {"format": "wav", "data": b64(wave(3))}},
            "[audio/wav, 3 s, left out]",
        ),
        (
            {"type": "input_audio", "input_audio": {"format": "mp3", "data": b64(bytes(700))}},
            "[audio/mp3, 700 bytes, left out]",
        ),
        ({"type": "audio", "audio": {"id": "a"}}, "[audio, left out]"),
        ({"type": "thinking"}, "[thinking, left out]"),
        ({"type": "]" * 500 + "\n" + "x" * 500}, "[content, left out]"),
        ({"type": 7}, "[content, left out]"),
        ([], "[content, left out]"),
    ],
)
def test_the_line_says_what_it_was(block: object, expected: str) -> None:
    """Type, name and size stand in one line of brackets, which nothing in a block can break."""
    assert line(block) == expected


@given(st.text(max_size=20) | junk.map(json.dumps))
def test_any_part_has_a_line(data: str) -> None:
    """Broken JSON, other types and odd fields give one short line without brackets inside."""
    said = describe_medium(Part("anthropic", data))
    assert said.startswith("[")
    assert said.endswith(", left out]")
    assert "\n" not in said
    assert len(said) < 300
    assert said.count("[") == said.count("]") == 1


@given(st.sampled_from(sorted(KINDS)), junk)
def test_any_block_is_read(kind: str, fields: Any) -> None:
    """Any block of a media type is read as that medium, or as a picture sent as a file."""
    medium = read_medium(
        (fields if isinstance(fields, dict) else {"source": fields}) | {"type": kind}
    )
    assert medium is not None
    assert medium.kind in (KINDS[kind], MediumKind.IMAGE)


def test_a_huge_payload_is_not_decoded() -> None:
    """Only the head of a payload of 100 MB is decoded."""
    broken = "A" * 100_000_000
    payload, document = b64(png(10, 20)) + broken, b64(b"%PDF-1.7") + broken
    tracemalloc.start()
    assert (
        medium := read_medium({"type": "image", "source": {"type": "base64", "data": payload}})
    ) is not None
    assert (medium.width, medium.height) == (10, 20)
    for block in (
        {"type": "image", "source": {"type": "base64", "data": broken}},
        {"type": "document", "source": {"type": "base64", "data": document}},
        {"type": "input_audio", "input_audio": {"data": broken}},
    ):
        assert (medium := read_medium(block)) is not None
        assert (medium.width, medium.pages, medium.seconds) == (None, None, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("segment", [b"\xff\xe0\x00\x02", b"\xff", b"\xff\x01"])
def test_a_jpeg_of_many_segments_is_given_up(segment: bytes) -> None:
    """The search for a JPEG's size stops after thousands of segments."""
    size = b"\xff\xc0\x00\x11\x08\x00\x14\x00\x0a"
    assert image_size(b"\xff\xd8" + segment * 300 + size) == ("image/jpeg", 10, 20)
    assert image_size(b"\xff\xd8\xff" + segment * 5_000 + size) is None
