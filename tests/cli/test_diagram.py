"""`polycontext diagram` prints the machine, and keeps the README's picture true."""

from pathlib import Path

import pytest

from polycontext.cli.diagram import BEGIN, END
from polycontext.polynomial.machine.diagram import dot, mermaid
from tests.cli.command import Command
from tests.house import ROOT


@pytest.mark.parametrize(("form", "text"), [("mermaid", mermaid()), ("dot", dot())])
def test_a_diagram_is_printed(polycontext: Command, form: str, text: str) -> None:
    """Each format goes to standard output as it is."""
    ran = polycontext("diagram", "--format", form)
    assert (ran.code, ran.out, ran.err) == (0, text, "")


def test_a_diagram_is_written_to_a_file(polycontext: Command, tmp_path: Path) -> None:
    """With --output the file holds the diagram, and standard output stays empty."""
    path = tmp_path / "machine.dot"
    ran = polycontext("diagram", "--format", "dot", "--output", path)
    assert (ran.code, ran.out) == (0, "")
    assert path.read_text(encoding="utf-8") == dot()


def test_the_readme_shows_the_machine_as_it_is() -> None:
    """The README's diagram is the machine's; `polycontext diagram --into README.md` makes it so."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == f"```mermaid\n{mermaid()}```"


def test_a_page_gets_the_diagram_between_its_markers(polycontext: Command, tmp_path: Path) -> None:
    """What stands around the markers is untouched, line ends included; a second time changes nothing."""
    page = tmp_path / "page.md"
    page.write_bytes(f"before\r\n{BEGIN}\nold\n{END}\r\nafter é".encode())
    assert polycontext("diagram", "--into", page).code == 0
    once = page.read_bytes()
    assert once == f"before\r\n{BEGIN}\n\n```mermaid\n{mermaid()}```\n\n{END}\r\nafter é".encode()
    assert polycontext("diagram", "--into", page).code == 0
    assert page.read_bytes() == once


@pytest.mark.parametrize("text", ["nothing here", BEGIN, f"{END} {BEGIN}"])
def test_a_page_without_markers_is_refused(polycontext: Command, tmp_path: Path, text: str) -> None:
    """A page that does not say where the diagram goes stays as it is."""
    page = tmp_path / "page.md"
    page.write_text(text)
    ran = polycontext("diagram", "--into", page)
    assert ran.code == 2
    assert "no markers" in ran.complaint
    assert page.read_text() == text


@pytest.mark.parametrize("option", ["--output", "--into"])
def test_a_place_that_cannot_be_written_is_refused(polycontext: Command, tmp_path: Path, option: str) -> None:
    """The complaint names the file."""
    path = tmp_path / "nowhere" / "machine.md"
    ran = polycontext("diagram", option, path)
    assert ran.code == 2
    assert str(path) in ran.complaint


def test_an_unknown_format_is_refused(polycontext: Command) -> None:
    """The complaint names the legal formats; pictures are Graphviz's to make."""
    ran = polycontext("diagram", "--format", "svg")
    assert ran.code == 2
    assert all(name in ran.complaint for name in ("mermaid", "dot"))
