"""No text that a user meets cites what the user has not got: what is cited is a page of `docs/`, and it is there."""

import pydoc
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer.main
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from polycontext.cli.app import app
from polycontext.linearity import laws as of_linearity
from polycontext.linearity.law import laws_of
from polycontext.nodes import laws as of_nodes
from polycontext.polynomial import laws as of_polynomial
from polycontext.pressure import laws as of_pressure
from polycontext.window import laws as of_window
from tests.house import ROOT, modules, shipped_files

pytestmark = pytest.mark.no_cover  # it reads texts

ABSENT = re.compile(r"design ?§|\bseed[ _-]?0\d*", re.IGNORECASE)
"""Papers that polycontext was built from, and that its readers have not."""
CITED = re.compile(r"docs/([a-z\d/-]+)\.md(?:,\s+\"([^\"]+)\")?")
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
SHOWN = sorted([*(ROOT / file for file in shipped_files()), *PAGES, *(ROOT / "examples").rglob("*.py")])


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _commands(command: Any, *words: str) -> Iterator[tuple[str, ...]]:
    """Yield the words that call `command` and each command below it."""
    yield words
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, *words, name)


def headings(page: Path) -> set[str]:
    """Return the headings of a page."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    return {after.content for token, after in pairwise(tokens) if token.type == "heading_open"}


def test_no_text_cites_what_is_not_here() -> None:
    """Pages, examples, what `help()` prints of a module and all that is installed, comments included, name no paper of its makers."""
    texts = {_name(path): path.read_text(encoding="utf-8") for path in SHOWN}
    texts |= {module.__name__: pydoc.plain(pydoc.render_doc(module)) for module in modules()}
    assert {name: found for name, text in texts.items() if (found := ABSENT.findall(text))} == {}


def test_the_help_of_a_command_cites_nothing_that_is_not_here() -> None:
    """`--help` of every command names no paper of its makers."""
    for words in _commands(typer.main.get_command(app)):
        result = CliRunner().invoke(app, [*words, "--help"])
        assert result.exit_code == 0, words
        assert "Usage:" in result.output, words
        assert ABSENT.findall(result.output) == [], words


def test_a_law_tells_where_it_is_from() -> None:
    """A law's source is a paper, a library or a page of the docs."""
    laws = [law for room in (of_linearity, of_window, of_pressure, of_polynomial, of_nodes) for law in laws_of(room)]
    assert laws
    assert [law.name for law in laws if not law.source or ABSENT.search(law.source)] == []


def test_a_page_that_is_cited_is_there() -> None:
    """``docs/pressure.md, "The ladder"`` in a source names a page, and a heading on it."""
    docs = ROOT / "docs"
    there = {page.relative_to(docs).with_suffix("").as_posix(): headings(page) for page in docs.rglob("*.md")}
    sources = {_name(path): path.read_text(encoding="utf-8") for path in SHOWN if path.suffix in {".py", ".pyi"}}
    cited = {(source, *found) for source, text in sources.items() for found in CITED.findall(text)}
    assert cited
    assert [each for each in sorted(cited) if each[1] not in there or (each[2] and each[2].replace("\\", "") not in there[each[1]])] == []
