"""Session files of hosts and rows of data sets, given to the commands that read conversations."""

from pathlib import Path

import pytest

from tests.cli.command import Command, as_lines, saved
from tests.transcripts.writers import STEPS, claude_code


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a session of Claude Code."""
    return saved(tmp_path, "session.json", as_lines(claude_code(STEPS)))


def test_what_is_left_out_is_counted(polycontext: Command, file: Path) -> None:
    """The host and its own rows are named on standard error."""
    done = polycontext("project", file, "--max-tokens", 4000)
    assert "a session of Claude Code; left out: " in done.err
    assert "2 of a sub-agent" in done.err


def test_an_interrupted_call_is_mended(polycontext: Command, tmp_path: Path) -> None:
    """A user may stop any call; the file is read without --repair."""
    kept = [row for row in claude_code(STEPS) if "tool_result" not in str(row.get("message"))]
    done = polycontext("project", saved(tmp_path, "s.jsonl", as_lines(kept)), "--max-tokens", 4000)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    "broken",
    [
        {"info": "x", "messages": [{"info": "y", "parts": None}]},
        {"info": {}, "messages": [{"info": "y", "parts": None}]},
        [{"type": "ai", "data": {"tool_calls": 5}}],
        {"sessionId": "s", "projectHash": "h", "messages": [{"type": "gemini", "toolCalls": 5}]},
    ],
)
def test_what_no_host_writes_is_refused(
    broken: object, polycontext: Command, tmp_path: Path
) -> None:
    """A row of another form ends with a line about the file, not with a traceback."""
    done = polycontext("project", saved(tmp_path, "s.json", broken), "--max-tokens", 4000)
    assert done.code == 2
    assert "internal" not in done.err


def test_a_chat_goes_on_from_a_file(polycontext: Command, tmp_path: Path, file: Path) -> None:
    """The session begins with its messages; one that exists is not overwritten."""
    store = ("--store", tmp_path / "chats.db")
    asked = ("chat", "trip", *store, "--continue", file, "--max-tokens", 4000)
    done = polycontext(*asked, stdin="Who reviews it?\n")
    assert done.code == 0, done.err
    shown = polycontext("session", "messages", "trip", *store).out
    assert 0 < shown.index("Never push to main.") < shown.index("Who reviews it?")
    again = polycontext(*asked, stdin="")
    assert (again.code, "already exists" in again.complaint) == (1, True)
