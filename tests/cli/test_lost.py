"""`polycontext lost`, as a user sees it."""

from pathlib import Path

import pytest

from polycontext.window import TiktokenCounter
from tests.cli.command import Command, as_lines, saved, user
from tests.transcripts.test_losses import SUMMARY
from tests.transcripts.writers import Step, codex

STEPS = [
    Step("user", "Fix src/price.py. Never push to main."),
    *(Step("assistant", f"Step {n}.", ((n, f"line {n}\n" * 60),)) for n in range(40)),
    Step("user", "Who reviews it?"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a rollout that was compacted."""
    mark = {"type": "compacted", "payload": {"message": SUMMARY}}
    return saved(tmp_path, "rollout.jsonl", as_lines([*codex(STEPS), mark]))


def test_what_is_gone_is_counted_and_named(polycontext: Command, file: Path) -> None:
    """Each fact with its line; the exit code is 1."""
    ran = polycontext("lost", file)
    assert ran.code == 1
    assert ran.out.startswith("Codex: 1 compaction\nrules: 1 of 1 gone\n  line 4: Never push")
    assert "paths: 1 of 1 gone\n  line 4: src/price.py\n" in ran.out
    told = polycontext("lost", file, "--json").json()
    assert (told["compactions"], told["facts"]["rules"]) == (1, 1)
    assert {"kind": "rules", "text": "Never push to main.", "line": 4} in told["gone"]


def test_a_message_to_paste(polycontext: Command, file: Path) -> None:
    """Given back, the next message has it all."""
    ran = polycontext("lost", file, "--give-back")
    assert (ran.code, "- Never push to main.\n" in ran.out) == (1, True)
    given = as_lines(codex([Step("user", ran.out)])[2:])
    saved(file.parent, file.name, f"{file.read_text().rstrip()}\n{given}")
    assert polycontext("lost", file).code == 0
    again = polycontext("lost", file, "--give-back")
    assert (again.code, again.out) == (0, "")


@pytest.mark.parametrize("tokens", [300, 1_000])
def test_a_start_for_a_new_session(polycontext: Command, file: Path, tokens: int) -> None:
    """It fits, and holds the task, the rule and the last question."""
    ran = polycontext("lost", file, "--hand-over", tokens)
    assert ran.code == 0, ran.err
    assert TiktokenCounter("o200k_base").count(ran.out) <= tokens
    assert "Never push to main." in ran.out
    assert "Who reviews it?" in ran.out


def test_what_cannot_be_told(polycontext: Command, file: Path, tmp_path: Path) -> None:
    """Too few tokens, two texts at once, and a file of no host."""
    small = polycontext("lost", file, "--hand-over", 20)
    assert (small.code, "Pass --hand-over" in small.err) == (1, True)
    assert polycontext("lost", file, "--hand-over", 900, "--give-back").code == 2
    other = polycontext("lost", saved(tmp_path, "chat.json", [user("a")]))
    assert (other.code, "no session file of a host" in other.complaint) == (2, True)
