"""Only what decides nothing and holds nothing may be lost."""

import pytest

from polycontext.linearity.classification.classifier import is_acknowledgement, is_empty_result
from tests.linearity.classification.sentences import SENTENCES


@pytest.mark.parametrize("content", SENTENCES["acknowledgements"])
def test_a_bare_acknowledgement_is_recognised(content: str) -> None:
    """Thanks, seen and well done, in any case, with any punctuation and friendly emoji."""
    assert is_acknowledgement(content)


@pytest.mark.parametrize("content", [*SENTENCES["decisions"], *SENTENCES["nothing said"]])
def test_what_decides_or_says_nothing_is_no_acknowledgement(content: str) -> None:
    """Numbers, choices, questions, tasks, blanks and the words around thanks are none."""
    assert not is_acknowledgement(content)


def test_a_long_text_is_no_acknowledgement() -> None:
    """A text over the length limit is no acknowledgement, and a megabyte is rejected quickly."""
    assert is_acknowledgement("thanks " * 11 + "ok!")
    assert not is_acknowledgement("thanks " * 11 + "ok!!")
    assert not is_acknowledgement("👍" * 1_000_000)


@pytest.mark.parametrize("content", SENTENCES["empty results"])
def test_an_empty_result_holds_nothing(content: str) -> None:
    """Blank text and the empty values of common notations."""
    assert is_empty_result(content)


def test_a_wide_result_is_not_taken_for_an_empty_one() -> None:
    """Up to sixteen characters are looked at."""
    assert is_empty_result("[" + " " * 14 + "]")
    assert not is_empty_result("[" + " " * 15 + "]")


@pytest.mark.parametrize("content", SENTENCES["results"])
def test_a_result_that_says_something_is_not_empty(content: str) -> None:
    """Zero and false are answers; so is whatever was put into words."""
    assert not is_empty_result(content)
