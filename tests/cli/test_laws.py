"""`polycontext laws` tests every law, or those that apply to a user's object, and reports."""

import re
import sys
from pathlib import Path

import pytest

from polycontext.base import errors
from polycontext.testing.law_runner import all_laws
from tests.cli.command import Command, Ran, spawn
from tests.house import ROOT, examples

SUBJECTS = "tests.testing.law_subjects"
ROOM = ("--room", "linearity")


@pytest.fixture
def check(polycontext: Command) -> "Check":
    """Return the command over a subject of this folder."""
    return Check(polycontext)


class Check:
    """Run the laws about a subject."""

    def __init__(self, polycontext: Command) -> None:
        self.polycontext = polycontext

    def __call__(self, name: str, *arguments: object, examples: int = 20) -> Ran:
        """Return what the command says of the subject."""
        return self.polycontext(
            "laws", "--subject", f"{SUBJECTS}:{name}", "--examples", examples, *arguments
        )


# --- all laws ---------------------------------------------------------------------


def test_a_room_whose_laws_hold(polycontext: Command) -> None:
    """The table has a row per law, and a total."""
    ran = polycontext("laws", "--room", "agents", "--examples", 7)
    laws = all_laws(["agents"])
    rows = [line.split() for line in ran.out.splitlines()]
    assert ran.code == 0
    assert rows[0] == ["room", "law", "examples", "verdict"]
    assert rows[1 : len(laws) + 1] == [["agents", law.name, "7", "holds"] for law in laws]
    assert ran.out.endswith(f"\n{len(laws)} laws, {7 * len(laws)} examples: all hold\n")
    assert ran.err == ""


def test_json_tells_all_that_the_table_tells(polycontext: Command) -> None:
    """The JSON object holds the options, and each law's statement, source, verdict and findings."""
    ran = polycontext(
        "laws", *ROOM, "--law", "classification_repeats", "--examples", 5, "--seed", 3, "--json"
    )
    (law,) = all_laws(["linearity"])
    assert ran.code == 0
    assert ran.json() == {
        "ok": True,
        "examples": 5,
        "seed": 3,
        "subject": None,
        "laws": [
            {
                "room": "linearity",
                "law": "classification_repeats",
                "statement": law.statement,
                "source": law.source,
                "tried": 5,
                "ok": True,
                "counterexample": None,
            }
        ],
    }


@pytest.mark.gate
def test_a_run_leaves_nothing_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without a terminal leaves no file in the working directory."""
    monkeypatch.chdir(tmp_path)
    root = str(Path(__file__).resolve().parents[3])
    ran = spawn(
        "laws",
        "--law",
        "counting_repeats",
        "--examples",
        5,
        PYTHONPATH=root,
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert (ran.code, list(tmp_path.iterdir())) == (0, [])
    assert ran.err == ""


# --- a user's own object ----------------------------------------------------------


def test_a_summariser_that_ignores_its_budget_is_found_out(check: Check) -> None:
    """A summariser over its allowance breaks that law, with a minimal example.

    The other laws are tested as well.
    """
    ran = check("Chatty")
    assert ran.code == 1
    assert ran.out.startswith(
        f"{SUBJECTS}:Chatty is a summariser (summarise(turns, max_tokens, *, counter, query))\n"
    )
    assert "\npressure.summaries_keep_to_their_allowance\n" in ran.out
    allowed = re.search(
        r"  summariser = a tests\.testing\.law_subjects\.Chatty\n  allowance = (\d+)\n", ran.out
    )
    assert allowed is not None
    assert f" is not at most {allowed[1]} tokens\n" in ran.out
    assert re.search(r"summaries_are_storable_text +20 +holds\b", ran.out)
    assert ran.out.endswith(": 1 broken\n")


@pytest.mark.parametrize(
    ("subject", "kind"), [("short", "a summariser"), ("Paused", "a machine (ContextMachine)")]
)
def test_a_function_and_a_machine_are_subjects(check: Check, subject: str, kind: str) -> None:
    """A function that summarises is no classifier, and a machine is no projector."""
    ran = check(subject, "--json")
    assert ran.code == 0
    (found,) = ran.json()["subject"]["kinds"]
    assert found.startswith(kind)


@pytest.mark.parametrize(
    ("name", "kind", "broken"),
    [
        ("MinusOne", "a counter (count(text))", "counting_repeats"),
        ("Losing", "a projector (compress(window, target))", "ledger_survives_compression"),
        ("Shouting", "an answer of a node (Form)", "reading_an_answer_again_changes_nothing"),
    ],
)
def test_other_kinds_are_told_by_their_shape(
    check: Check, name: str, kind: str, broken: str
) -> None:
    """Every kind of object is recognised by its methods, and breaks the law that it violates."""
    ran = check(name, "--law", broken, "--json", examples=60)
    assert ran.code == 1
    assert ran.json()["subject"]["kinds"] == [kind]
    assert [(law["law"], law["ok"]) for law in ran.json()["laws"]] == [(broken, False)]


def test_a_module_of_the_working_directory_is_found(
    polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's script beside the prompt can be named without installing it."""
    code = (
        "from polycontext.linearity import ResourceClass\n\n"
        "def mine(role, content, metadata):\n    return ResourceClass.REQUIRED\n"
    )
    (tmp_path / "subject_beside_the_prompt.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    ran = polycontext("laws", "--subject", "subject_beside_the_prompt:mine", "--examples", 3)
    assert (ran.code, "all hold" in ran.out) == (0, True)


# --- bad use ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaints"),
    [
        (["--room", "attic"], ["--room", "'attic' is not one of"]),
        (["--law", "nope"], ["--law nope: no such law. Use a name that docs/laws.md lists."]),
        ([*ROOM, "--law", "counting_repeats"], ["no such law in linearity", "Did you mean "]),
        (["--subject", SUBJECTS], [f"subject '{SUBJECTS}': no module and object", "module:object"]),
        (
            ["--subject", "no.such.module:thing"],
            ["cannot be imported: ModuleNotFoundError", "a module that imports"],
        ),
        (["--subject", f"{SUBJECTS}:zzzzzz"], ["no 'zzzzzz' there", "Answering, Away, Chatty"]),
        (
            ["--subject", f"{SUBJECTS}:Demanding"],
            ["cannot be made: TypeError", "without parameters, or an instance"],
        ),
        (
            ["--subject", f"{SUBJECTS}:number"],
            ["int is nothing that laws are about", "an answer of a node (Form); a window"],
        ),
        ([*ROOM, "--subject", f"{SUBJECTS}:Silent"], ["is a summariser", "laws about summariser"]),
    ],
)  # fmt: skip
def test_bad_use_is_refused_with_what_is_legal(
    polycontext: Command, arguments: list[str], complaints: list[str]
) -> None:
    """One line says what is wrong and what would be legal, before any law is run."""
    ran = polycontext("laws", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert [each for each in complaints if each not in ran.complaint] == []


def test_a_missing_extra_is_named(polycontext: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Hypothesis the command says what to install."""
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "polycontext.cli.laws", raising=False)
    ran = polycontext("laws")
    assert ran.code == 2
    assert (
        ran.complaint
        == 'polycontext laws needs hypothesis. Run pip install ".[laws]" in a clone of polycontext.'
    )


@pytest.mark.gate
def test_the_page_of_laws_shows_what_the_command_prints(
    polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample of docs/laws.md is the output for the class that stands before it."""
    text = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    code = next(code for _, code in examples(text, "python") if "class Everything" in code)
    (tmp_path / "notes.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "notes", raising=False)
    ran = polycontext("laws", "--subject", "notes:Everything")
    shown = next(code for _, code in examples(text, "text") if code.startswith("$ polycontext"))
    assert [line.rstrip() for line in ran.out.splitlines()] == shown.splitlines()[1:]
