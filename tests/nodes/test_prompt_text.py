"""Quoted text is printed as data that never reaches the start of a line."""

from hypothesis import given

from polycontext.nodes.prompt_text import MARK, quote, quote_block
from tests.nodes.memory.records import SAID


@given(SAID)
def test_further_lines_stand_behind_the_mark(text: str) -> None:
    """Every line of a quoted text but the first starts with the mark; in a block all do."""
    assert all(line.startswith(MARK) for line in f"label {quote(text)}".splitlines()[1:])
    assert all(line.startswith(MARK) for line in quote_block(text).splitlines())


@given(SAID)
def test_quoting_keeps_the_words(text: str) -> None:
    """Nothing but white space and the mark is added or lost."""
    assert quote(text).replace(f"\n{MARK}", " ").split() == text.split()
