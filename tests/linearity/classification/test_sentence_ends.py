"""Where a sentence ends: abbreviations, dates, ordinals and file names are part of it."""

import pytest

from polycontext.linearity.classification import sentence_ends
from polycontext.pressure.notes.prose import sentences_of
from tests.linearity.classification.sentences import SENTENCES


@pytest.mark.parametrize(
    "sentence", [each for those in SENTENCES["whole"].values() for each in those]
)
def test_a_sentence_with_shortened_words_is_whole(sentence: str) -> None:
    """It is not split in prose, nor in the sentences of notes."""
    assert [*sentence_ends(f"{sentence} So")] == [len(sentence)]
    assert sentences_of(sentence) == [sentence]


@pytest.mark.parametrize(("first", "second"), SENTENCES["two"])
def test_two_sentences_are_split(first: str, second: str) -> None:
    """An abbreviation or a number at the end of a sentence ends it if another one follows."""
    assert next(sentence_ends(f"{first} {second}")) == len(first)


def test_marks_in_a_row_are_read_once() -> None:
    """A mark counts only at the end of a run of marks, so that no run is read anew."""
    assert [*sentence_ends("!" * 100_000 + "a")] == []
