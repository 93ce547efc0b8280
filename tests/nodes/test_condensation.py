"""One message is condensed to its bound, and left alone where it fits."""

from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes.condensation import condense
from polycontext.testing.strategies import ANY_TEXT
from polycontext.window import default_counter

LONG = (
    "Well, that is how it is, one might say. " * 20
    + "The order ZX-4471 for Mira costs 45 euros. "
    + "And so on it goes for a while. " * 20
)


@given(ANY_TEXT, st.integers(0, 60))
def test_condensing_keeps_its_bound(text: str, most: int) -> None:
    """Whatever the text, the result takes at most what it may."""
    assert default_counter().count(condense(text, most)) <= most


def test_a_start_stands_where_nothing_else_fits() -> None:
    """Also of text that has no words."""
    assert condense('{"a": 1, "b": 22222}', 4)
    assert condense("[[[[[" * 50, 3)


def test_names_and_numbers_survive() -> None:
    """Of a long answer the identifiers stay, without the label of the speaker."""
    short = condense(LONG, 30)
    assert "ZX-4471" in short
    assert "45 euros" in short
    assert not short.startswith("assistant:")
