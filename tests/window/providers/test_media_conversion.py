"""Media are converted for another provider or omitted, and never cost more than counted."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.window.media import KINDS, read_medium
from polycontext.window.media_conversion import GEMINI, convert_block
from polycontext.window.part import Part
from polycontext.window.tokens.counter import count_part
from polycontext.window.tokens.tiktoken_counter import default_counter
from tests.window.media_files import b64, pdf, png
from tests.window.test_media import junk

A, C, R = "anthropic", "openai", "openai-responses"


def _picture(provider: str, data: str, media_type: str = "image/png") -> dict[str, Any]:
    url = f"data:{media_type};base64,{data}"
    if provider == C:
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "input_image", "image_url": url}


PNG, PDF, URL = b64(png(640, 480)), b64(pdf(3)), "https://example.org/cat.png"
PICTURE: dict[str, dict[str, Any]] = {
    A: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    C: {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PNG}},
    R: {"type": "input_image", "image_url": "data:image/png;base64," + PNG},
}
LINK: dict[str, dict[str, Any]] = {
    A: {"type": "image", "source": {"type": "url", "url": URL}},
    C: {"type": "image_url", "image_url": {"url": URL}},
    R: {"type": "input_image", "image_url": URL},
}
PAPER: dict[str, dict[str, Any]] = {
    A: {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
        "title": "a.pdf",
    },
    C: {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64," + PDF},
    },
    R: {
        "type": "input_file",
        "filename": "a.pdf",
        "file_data": "data:application/pdf;base64," + PDF,
    },
}
LINKED_PAPER: dict[str, dict[str, Any]] = {
    A: {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
    R: {"type": "input_file", "file_url": "https://example.org/a.pdf"},
}
NOTE: dict[str, dict[str, Any]] = {
    A: {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "words"},
        "title": "a.txt",
    },
    C: {"type": "text", "text": "a.txt\n\nwords"},
    R: {"type": "input_text", "text": "a.txt\n\nwords"},
}
pairs = pytest.mark.parametrize(
    ("source", "target"), [(s, t) for s in (A, C, R) for t in (A, C, R)]
)


@pairs
@pytest.mark.parametrize("forms", [PICTURE, LINK, PAPER])
def test_a_medium_goes_along_to_every_provider(
    forms: dict[str, Any], source: str, target: str
) -> None:
    """Pictures and PDFs have a form with every provider, and go from each to each and back."""
    before = copy.deepcopy(forms[source])
    assert convert_block(forms[source], source, target) == forms[target]
    assert forms[source] == before


@pytest.mark.parametrize(
    ("block", "source", "target", "expected"),
    [
        (NOTE[A], A, C, NOTE[C]),
        (NOTE[A], A, R, NOTE[R]),
        (
            {
                "type": "input_file",
                "filename": "a.txt",
                "file_data": "data:text/plain;base64," + b64(b"words"),
            },
            R,
            A,
            NOTE[A],
        ),
        (
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain,words"}},
            C,
            A,
            NOTE[A],
        ),
        (LINKED_PAPER[A], A, R, LINKED_PAPER[R]),
        (LINKED_PAPER[R], R, A, LINKED_PAPER[A]),
        (
            {
                "type": "document",
                "source": {"type": "content", "content": [{"type": "text", "text": "words"}]},
                "title": "a.txt",
            },
            A,
            C,
            NOTE[C],
        ),
        (
            {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
            C,
            R,
            LINK[R] | {"detail": "low"},
        ),
        (
            {"type": "file", "file": {"file_id": "file-1"}},
            C,
            R,
            {"type": "input_file", "file_id": "file-1"},
        ),
        (
            {"type": "input_file", "file_id": "file-1"},
            R,
            C,
            {"type": "file", "file": {"file_id": "file-1"}},
        ),
        (PICTURE[A] | {"cache_control": {"type": "ephemeral"}}, A, C, PICTURE[C]),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/jpeg", "data": PNG},
            },
            A,
            C,
            PICTURE[C],
        ),
    ],
)
def test_what_has_a_form_elsewhere_is_written_in_it(
    block: dict[str, Any], source: str, target: str, expected: dict[str, Any]
) -> None:
    """Text, links and file ids are converted, marks are dropped, and types come from the data."""
    assert convert_block(block, source, target) == expected


@pytest.mark.parametrize(
    ("block", "source", "target"),
    [
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, A, C),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, A, R),
        ({"type": "input_file", "file_id": "f"}, R, A),
        ({"type": "input_image", "file_id": "f"}, R, C),
        (LINKED_PAPER[A], A, C),
        ({"type": "input_file", "file_url": "https://example.org/a.xlsx"}, R, A),
        ({"type": "file", "file": {"filename": "a.docx", "file_data": b64(b"PK\0\1" * 9)}}, C, A),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}, C, A),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}, C, R),
        ({"type": "container_upload", "file_id": "f"}, A, C),
        ({"type": "image_url", "image_url": {"url": "gs://bucket/cat.png"}}, C, A),
        (
            {
                "type": "image_url",
                "image_url": {"url": "data:image/svg+xml;base64," + b64(b"<svg/>")},
            },
            C,
            A,
        ),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}, C, A),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}, C, A),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}, C, R),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,!" + PNG}}, C, A),
        (_picture(R, b64(png(640, 480)[:9] + b"no header"), "image/gif"), R, A),
        ({"type": "document", "source": {"type": "text", "data": " "}}, A, C),
        ({"type": "document", "source": {"type": "content", "content": [PICTURE[A]]}}, A, C),
        ({"type": "image", "source": None}, A, C),
        ({"type": "thinking", "thinking": "so", "signature": "c2ln"}, A, C),
        ({"type": "image_url", "image_url": {"url": URL}}, A, C),
        (PICTURE[A], A, "altavista"),
        (PICTURE[A], "altavista", A),
        ({}, A, C),
    ],
)
def test_what_has_no_form_elsewhere_stays_behind(
    block: dict[str, Any], source: str, target: str
) -> None:
    """Uploads, recordings, office files, odd formats and other blocks are not converted.

    Nor are data that are no picture.
    """
    assert convert_block(block, source, target) is None


def test_the_url_safe_alphabet_is_converted_and_costs_the_same() -> None:
    """A picture in URL-safe base64 without padding, as Google's SDK writes it, is accepted."""
    data = b64(png(640, 480) + b"\xfb\xff" * 300)
    source = {"type": "base64", "media_type": "image/png", "data": data}
    told = source | {"data": data.translate({ord("+"): "-", ord("/"): "_", ord("="): None})}
    written = convert_block({"type": "image", "source": told}, GEMINI, A)
    assert written == {"type": "image", "source": source}
    parts = [Part(GEMINI, json.dumps({"type": "image", "source": each})) for each in (told, source)]
    first, second = (count_part(default_counter(), part) for part in parts)
    assert first == second


@pairs
@given(kind=st.sampled_from(sorted(KINDS)), fields=junk)
def test_any_block_is_written_or_stays_behind(
    source: str, target: str, kind: str, fields: Any
) -> None:
    """Any block is either omitted or converted to text or readable media, without an error."""
    block = (fields if isinstance(fields, dict) else {"source": fields}) | {"type": kind}
    written = convert_block(block, source, target)
    if written is not None and source != target:
        assert json.loads(json.dumps(written)) == written
        assert written["type"] in ("text", "input_text") or read_medium(written) is not None
