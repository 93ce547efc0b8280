"""`polycontext diagram` prints the machine, and keeps the picture of docs/machine.md true."""

import re
import sys
from pathlib import Path

import pytest

from polycontext.cli.diagram import outline
from polycontext.polynomial.machine import ContextMachine, dot, mermaid
from tests.cli.command import Command, saved
from tests.house import ROOT, examples

MACHINE = """
from statemachine import State

from polycontext.polynomial import ContextMachine


class Reviewed(ContextMachine):
    in_review = State("REVIEW", value="REVIEW")
    review = ContextMachine.accumulating.to(in_review)
"""


@pytest.mark.parametrize(
    ("form", "text"), [("mermaid", mermaid()), ("dot", dot()), ("outline", outline(ContextMachine))]
)
def test_a_diagram_is_printed(polycontext: Command, form: str, text: str) -> None:
    """Each format goes to standard output as it is."""
    ran = polycontext("diagram", "--notation", form)
    assert (ran.code, ran.out, ran.err) == (0, text, "")


def test_the_machine_of_any_class_is_drawn(
    polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A subclass in the working directory is drawn with its extra state, within 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    saved(tmp_path, "reviewed_machines.py", MACHINE)
    ran = polycontext("diagram", "reviewed_machines:Reviewed")
    assert ran.code == 0
    assert re.search(r"^ACCUMULATING\n(  .*\n)*  .*review +-> REVIEW$", ran.out, re.MULTILINE)
    assert max(map(len, polycontext("diagram").out.splitlines()[:-2])) <= 80


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no_such_module:Machine", "cannot be imported: ModuleNotFoundError"),
        ("polycontext:NoSuchMachine", "cannot be imported: AttributeError"),
        ("polycontext:ContextSession", "is not a machine"),
        ("", "cannot be imported"),
    ],
)
def test_what_is_no_machine_is_refused(polycontext: Command, name: str, problem: str) -> None:
    """The complaint says what was named and what to name instead."""
    ran = polycontext("diagram", name)
    assert ran.code == 2
    assert problem in ran.complaint


def test_the_readme_shows_the_machine_as_it_is() -> None:
    """The diagram of docs/machine.md is what `polycontext diagram --notation mermaid` prints."""
    text = (ROOT / "docs" / "machine.md").read_text(encoding="utf-8")
    assert [code for _, code in examples(text, "mermaid")] == [mermaid()]


def test_a_place_that_cannot_be_written_is_refused(polycontext: Command, tmp_path: Path) -> None:
    """The complaint names the file."""
    path = tmp_path / "nowhere" / "machine.md"
    ran = polycontext("diagram", "--output", path)
    assert ran.code == 2
    assert str(path) in ran.complaint


def test_an_ending_that_is_no_diagram_is_refused(polycontext: Command, tmp_path: Path) -> None:
    """Nothing is written; --notation says what an unusual name holds."""
    ran = polycontext("diagram", "-o", tmp_path / "a.jpg")
    assert (ran.code, ran.out, [*tmp_path.iterdir()]) == (2, "", [])
    assert "a.jpg: no file type for a diagram. Use .png, .svg, .pdf, .mmd" in ran.complaint
    assert polycontext("diagram", "-o", tmp_path / "a.jpg", "--notation", "dot").code == 0


def test_the_ending_of_the_file_says_how_to_draw(
    polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """.mmd and .dot are notations; pictures are drawn by Graphviz, and refused without it."""
    for name, start in (("a.mmd", "stateDiagram-v2"), ("a.dot", "digraph"), ("a.txt", "EMPTY")):
        assert polycontext("diagram", "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    monkeypatch.setattr("polycontext.cli.diagram.which", lambda program: None)
    ran = polycontext("diagram", "-o", tmp_path / "a.svg")
    assert (ran.code, "drawing needs Graphviz" in ran.complaint) == (1, True)
    # A program that copies its input stands for Graphviz.
    (program := tmp_path / "dot").write_text('#!/bin/sh\ncat > "$3"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("polycontext.cli.diagram.which", lambda name: str(program))
    assert polycontext("diagram", "-o", tmp_path / "a.svg").code == 0
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("digraph")
    program.write_text("#!/bin/sh\necho 'no such format' >&2; exit 1\n", encoding="utf-8")
    ran = polycontext("diagram", "-o", tmp_path / "a.png")
    assert (ran.code, "a.png: Graphviz failed: no such format" in ran.complaint) == (1, True)
