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

from polycontext.linearity import laws as of_linearity
from polycontext.linearity.law import laws_of
from polycontext.nodes import laws as of_nodes
from polycontext.nodes.commands.app import app
from polycontext.polynomial import laws as of_polynomial
from polycontext.pressure import laws as of_pressure
from polycontext.window import laws as of_window
from tests.house import ROOT, module_names, module_of, shipped_files

ABSENT = re.compile(r"design ?§|\bseed[ _-]?0\d*", re.IGNORECASE)
"""Papers that polycontext was built from, and that its readers have not."""
CITED = re.compile(r"docs/([a-z-]+)\.md(?:,\s+\"([^\"]+)\")?")
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


@pytest.mark.parametrize("name", [*module_names()])
def test_help_cites_nothing_that_is_not_here(name: str) -> None:
    """What `help()` prints of a module names no paper of its makers."""
    assert ABSENT.findall(pydoc.plain(pydoc.render_doc(module_of(name)))) == []


@pytest.mark.parametrize("path", SHOWN, ids=_name)
def test_no_page_and_no_source_cites_what_is_not_here(path: Path) -> None:
    """Pages, examples and all that is installed, comments included, name no paper of its makers."""
    assert ABSENT.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("words", [*_commands(typer.main.get_command(app))], ids=" ".join)
def test_the_help_of_a_command_cites_nothing_that_is_not_here(words: tuple[str, ...]) -> None:
    """`--help` of every command names no paper of its makers."""
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output
    assert ABSENT.findall(result.output) == []


@pytest.mark.parametrize(
    "law",
    [law for room in (of_linearity, of_window, of_pressure, of_polynomial, of_nodes) for law in laws_of(room)],
    ids=lambda law: law.name,
)
def test_a_law_tells_where_it_is_from(law: Any) -> None:
    """A law's source is a paper, a library or a page of the docs."""
    assert law.source
    assert ABSENT.findall(law.source) == []


@pytest.mark.parametrize("path", [path for path in SHOWN if path.suffix in {".py", ".pyi"}], ids=_name)
def test_a_page_that_is_cited_is_there(path: Path) -> None:
    """``docs/pressure.md, "The ladder"`` in a source names a page, and a heading on it."""
    for name, heading in CITED.findall(path.read_text(encoding="utf-8")):
        page = ROOT / "docs" / f"{name}.md"
        assert page.is_file(), name
        assert not heading or heading.replace("\\", "") in headings(page), (name, heading)
