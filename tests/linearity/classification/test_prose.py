"""Prose is what is left of a turn without its code, in sentences that can be quoted."""

import pytest

from polycontext.linearity.classification.prose import sentences
from tests.linearity.classification.sentences import SENTENCES


@pytest.mark.parametrize(
    ("text", "expected"),
    SENTENCES["prose"],
)
def test_text_falls_into_sentences(text: str, expected: list[str]) -> None:
    """Terminators, line ends and list items end a sentence, numbers and abbreviations do not."""
    assert list(sentences(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    SENTENCES["beside code"],
)
def test_code_is_no_prose(text: str, expected: list[str]) -> None:
    """Code and what tools print is left out; list items, however deep, and headings are not."""
    assert list(sentences(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    SENTENCES["beside elements"],
)
def test_elements_that_others_wrote_are_no_prose(text: str, expected: list[str]) -> None:
    """What a host or a command wrote is left out; the user's words beside or in a tag are not."""
    assert list(sentences(text)) == expected
