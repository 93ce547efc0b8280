"""User-facing text cites only pages of `docs/` that exist."""

import pydoc
import re
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from polycontext.base.law import laws_of
from polycontext.cli.app import app
from polycontext.linearity import laws as of_linearity
from polycontext.nodes import laws as of_nodes
from polycontext.polynomial import laws as of_polynomial
from polycontext.pressure import laws as of_pressure
from polycontext.window import laws as of_window
from tests.cli.command import all_commands
from tests.house import ROOT, modules, shipped_files

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # it reads texts

ABSENT = re.compile(r"design ?§|\bseed[ _-]?0\d*", re.IGNORECASE)
"""Papers that polycontext was built from, and that its readers have not."""
SOURCES = "docs/differences.md"
"""The one page about these papers: each has a heading there."""
CITED = re.compile(r"docs/([a-z\d/-]+)\.md(?:,\s+\"([^\"]+)\")?")
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
)
SHOWN = sorted(
    [*(ROOT / file for file in shipped_files()), *PAGES, *(ROOT / "examples").rglob("*.py")]
)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def headings(page: Path) -> set[str]:
    """Return the headings of a page."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    return {after.content for token, after in pairwise(tokens) if token.type == "heading_open"}


def test_no_text_cites_what_is_not_here() -> None:
    """Pages, examples, `help()` texts and installed files cite no paper that is not shipped.

    The page about the differences from these papers names each once, in a heading.
    """
    texts = {
        _name(path): path.read_text(encoding="utf-8")
        for path in SHOWN
        if path.suffix not in (".bin", ".woff2")
    }
    texts |= {module.__name__: pydoc.plain(pydoc.render_doc(module)) for module in modules()}
    assert {name: found for name, text in texts.items() if (found := ABSENT.findall(text))} == {
        SOURCES: [f"Seed 00{number}" for number in range(5)]
    }


def test_the_help_of_a_command_cites_nothing_that_is_not_here() -> None:
    """`--help` of every command names no paper of its makers."""
    for words, _ in all_commands():
        result = CliRunner().invoke(app, [*words, "--help"])
        assert result.exit_code == 0, words
        assert "Usage:" in result.output, words
        assert ABSENT.findall(result.output) == [], words


def test_a_law_tells_where_it_is_from() -> None:
    """A law's source is a paper, a library or a page of the docs."""
    laws = [
        law
        for room in (of_linearity, of_window, of_pressure, of_polynomial, of_nodes)
        for law in laws_of(room)
    ]
    assert laws
    assert [law.name for law in laws if not law.source or ABSENT.search(law.source)] == []


def test_a_page_that_is_cited_is_there() -> None:
    """``docs/pressure.md, "The ladder"`` in a source names a page, and a heading on it."""
    docs = ROOT / "docs"
    there = {
        page.relative_to(docs).with_suffix("").as_posix(): headings(page)
        for page in docs.rglob("*.md")
    }
    sources = {
        _name(path): path.read_text(encoding="utf-8")
        for path in SHOWN
        if path.suffix in {".py", ".pyi"}
    }
    cited = {(source, *found) for source, text in sources.items() for found in CITED.findall(text)}
    assert cited
    assert [
        each
        for each in sorted(cited)
        if each[1] not in there or (each[2] and each[2].replace("\\", "") not in there[each[1]])
    ] == []
