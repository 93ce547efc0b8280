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
from tests.window.media_files import MEDIA_SHAPES, b64, png
from tests.window.test_media import junk

A, C, R = "anthropic", "openai", "openai-responses"


pairs = pytest.mark.parametrize(
    ("source", "target"), [(s, t) for s in (A, C, R) for t in (A, C, R)]
)


@pairs
@pytest.mark.parametrize("forms", MEDIA_SHAPES["forms"].values(), ids=MEDIA_SHAPES["forms"])
def test_a_medium_goes_along_to_every_provider(
    forms: dict[str, Any], source: str, target: str
) -> None:
    """Pictures and PDFs have a form with every provider, and go from each to each and back."""
    before = copy.deepcopy(forms[source])
    assert convert_block(forms[source], source, target) == forms[target]
    assert forms[source] == before


@pytest.mark.parametrize("row", MEDIA_SHAPES["converted"])
def test_what_has_a_form_elsewhere_is_written_in_it(row: dict[str, Any]) -> None:
    """Text, links and file ids are converted, marks are dropped, and types come from the data."""
    assert convert_block(row["block"], row["from"], row["to"]) == row["becomes"]


@pytest.mark.parametrize("row", MEDIA_SHAPES["left"])
def test_what_has_no_form_elsewhere_stays_behind(row: dict[str, Any]) -> None:
    """Uploads, recordings, office files, odd formats and other blocks are not converted.

    Nor are data that are no picture.
    """
    assert convert_block(row["block"], row["from"], row["to"]) is None


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
