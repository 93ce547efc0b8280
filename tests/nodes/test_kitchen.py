"""The kitchen: the whole loop of four nodes, saved in the middle and resumed elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

from polycontext import ContextSession
from polycontext.nodes.memory import ConversationContext
from tests.house import ROOT

pytestmark = pytest.mark.no_cover  # the example has its tests by parts

KITCHEN = ROOT / "examples" / "kitchen.py"


def _run(*options: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, KITCHEN, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.gate
def test_a_kitchen_resumed_in_a_new_process_gives_byte_identical_contexts(tmp_path: Path) -> None:
    """A kitchen resumed after turn 15 gives every node the same contexts as an unbroken run."""
    _run("--contexts", tmp_path / "whole")
    _run("--stop", "15", "--save", tmp_path / "saved", "--contexts", tmp_path / "first")
    _run("--resume", tmp_path / "saved", "--contexts", tmp_path / "second")
    whole, first, second = (_files(tmp_path / name) for name in ("whole", "first", "second"))
    assert {name[:2] for name in second} == {f"{turn:02}" for turn in range(16, 31)}
    assert first | second == whole


def test_the_machine_compresses_in_the_middle_of_the_kitchen() -> None:
    """The kitchen is compressed several times, and the log keeps every turn."""
    last = _run().splitlines()[-1]
    assert last == "119 turns in the log, 11 in the window, 13 compressions"


def test_a_node_s_context_is_printed_on_request() -> None:
    """One node, one turn: its four sections stand in the output once."""
    printed = _run("--show", "think", "--turn", "3", "--stop", "4")
    for heading in (
        "## Entity Context",
        "## Conversation History",
        "## What Happened (Reasoning Trace)",
        "## Your Task",
    ):
        assert printed.count(f"{heading}\n") == 1


def test_session_and_memory_are_saved_and_load_as_one(tmp_path: Path) -> None:
    """One file saves the session and its journal together with the memory."""
    _run("--stop", "4", "--save", tmp_path / "saved")
    session = ContextSession.history.load((tmp_path / "saved").read_text(encoding="utf-8"))
    memory = ConversationContext.from_data(session.documents.get("kitchen")["memory"])
    assert memory.next_turn_num == 5
    assert memory.closed_id in session.window.linearity
