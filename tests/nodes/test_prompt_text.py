"""Quoted text is printed as data that never reaches the start of a line."""

from hypothesis import given

from polycontext.nodes.prompt_text import MARK, indent_lines, one_line, quote, quote_block
from tests.nodes.memory.records import SAID


@given(SAID)
def test_further_lines_stand_behind_the_mark(text: str) -> None:
    """Every line of a quoted text but the first starts with the mark; in a block all do."""
    assert all(line.startswith(MARK) for line in f"label {quote(text)}".splitlines()[1:])
    assert all(line.startswith(MARK) for line in quote_block(text).splitlines())


@given(SAID)
def test_continued_lines_start_with_a_space(text: str) -> None:
    """Every line of a summary but the first is indented."""
    assert all(line.startswith(" ") for line in f"label {indent_lines(text)}".splitlines()[1:])


@given(SAID)
def test_one_line_is_one_line(text: str) -> None:
    """No line end of any kind is left."""
    assert len(one_line(text).splitlines()) <= 1


@given(SAID)
def test_quoting_keeps_the_words(text: str) -> None:
    """Nothing but white space and the mark is added or lost."""
    assert quote(text).replace(f"\n{MARK}", " ").split() == text.split()
