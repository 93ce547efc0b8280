"""Outlines name what a text defines, whatever the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.testing.strategies import HOSTILE_TEXTS, TEXTS
from polycontext.window import Turn
from polycontext.window.items import ContextItem, item_turn
from polycontext.window.items.attachment import (
    MOST_PARSED,
    attached_outline,
    definitions,
    outline_of,
)
from tests.window.items.samples import TABLES

PYTHON = '''
import os

if os.name == "nt":
    def windows(): ...
else:
    async def posix(): ...

class Store:
    """class NotThis: def nor_this."""

    class Inner:
        def peek(self): ...

    def seek(self):
        def helper(): ...

try:
    import fast
except ImportError:
    class fast: ...
with open("x") as f:
    pattern = "\\d"
'''


def lines(text: str, language: str = "") -> list[str]:
    """Return an outline as indented lines."""
    return [f"{'  ' * entry.depth}{entry.text}" for entry in outline_of(text, language)]


def test_python_is_parsed() -> None:
    """Classes and functions of modules and classes are found, not those in strings or functions."""
    assert lines(PYTHON, "python") == [
        "def windows",
        "def posix",
        "class Store",
        "  class Inner",
        "    def peek",
        "  def seek",
        "class fast",
    ]


@pytest.mark.parametrize(("line", "name"), TABLES["definitions"])
def test_definitions_of_many_languages_are_found(line: str, name: str) -> None:
    """A line that starts with a word of definition, behind any modifiers."""
    assert lines(f"x = 1\n{line}\n  return x\n") == [name]


@pytest.mark.parametrize(
    "line",
    [
        "the class of 1999",
        "typedef int x;",
        "return new class_(1)",
        "fn",
        "class: x",
        "definitely not",
    ],
)
def test_other_lines_define_nothing(line: str) -> None:
    """The word stands first and whole, and a name follows."""
    assert lines(line) == []


def test_markdown_is_outlined_by_its_headings() -> None:
    """Headings outside of fences, each one level inside the one above."""
    text = (
        "# Title #\n```sh\n# no heading\n~~~\n```\ntext\n"
        "## Part\n~~~\n# none\n~~~\n### Deep\n#hash\n"
    )
    assert lines(text, "markdown") == ["Title", "  Part", "    Deep"]


@pytest.mark.parametrize("language", ["text", "output", "rst"])
def test_prose_has_no_outline(language: str) -> None:
    """Prose has no outline, even where a line reads like code."""
    assert lines("class struggle is old\n# title", language) == []


@given(
    TEXTS | st.sampled_from(HOSTILE_TEXTS),
    st.sampled_from(["", "python", "markdown", "lisp", "text"]),
)
def test_any_text_has_an_outline(text: str, language: str) -> None:
    """Any text has an outline, whose entries are single lines of the text."""
    for entry in outline_of(text, language):
        assert entry.depth >= 0
        assert entry.text
        assert len(entry.text.splitlines()) <= 1


def test_the_outline_of_a_turn_is_that_of_the_file_it_holds() -> None:
    """Code, text and files are outlined; errors, REPL history and custom items are not."""
    for kind in ("code", "file", "text"):
        assert (
            len(
                attached_outline(
                    item_turn(ContextItem("def a(): ...\n", kind, {"filename": "a.py"}))
                )
            )
            == 1
        )
    for kind in ("error", "repl-history", "custom"):
        assert (
            attached_outline(item_turn(ContextItem("def a(): ...\n", kind, {"filename": "a.py"})))
            == ()
        )
    assert attached_outline(Turn("user", "def a(): ...")) == ()


def test_a_long_chain_of_branches_is_outlined() -> None:
    """Two thousand chained `elif` branches are outlined with all that they define."""
    text = "if a:\n    def f0(): ...\n" + "".join(
        f"elif a == {number}:\n    def f{number}(): ...\n" for number in range(1, 2000)
    )
    assert lines(text, "python") == [f"def f{number}" for number in range(2000)]


def test_python_too_long_for_the_parser_is_read_line_by_line() -> None:
    """A parser's memory is hundreds of times the text; no symbols are looked for in there."""
    text = "def a():\n    def inner(): ...\n" + "#" * MOST_PARSED
    assert definitions(text) is None
    assert lines(text, "python") == ["def a", "  def inner"]
    assert lines(text[:MOST_PARSED], "python") == ["def a"]
