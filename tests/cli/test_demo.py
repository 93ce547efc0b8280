"""`polycontext demo` shows one moment of a recorded conversation, on one screen."""

import re

import pytest

from polycontext.cli.demo import MAX_TOKENS, RECORDING
from tests.cli.command import EXAMPLE, Command


def test_the_demo_fits_a_small_terminal(polycontext: Command) -> None:
    """It prints at most 30 lines of 80 columns, the same wherever it runs."""
    ran = polycontext("demo")
    lines = ran.out.splitlines()
    assert (ran.code, ran.err, RECORDING.name) == (0, "", EXAMPLE.name)
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80


def test_the_demo_is_as_narrow_as_the_terminal(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apart from the commands at its end."""
    monkeypatch.setenv("COLUMNS", "60")
    told, _, commands = polycontext("demo").out.rpartition("\n\n")
    assert commands.startswith("polycontext project")
    assert max(map(len, told.splitlines())) <= 60


def test_the_demo_shows_before_after_kept_and_lost(polycontext: Command) -> None:
    """Both sides have their numbers; system prompt and task are kept, and lost by a plain cut."""
    out = polycontext("demo").out
    assert f"in a window of {MAX_TOKENS:,} tokens" in out
    assert re.search(r"BEFORE: 16 messages, 1,\d+ tokens +AFTER: 8 messages, 1,\d+ tokens", out)
    kept, _, lost = out.partition("Kept word for word:")[2].partition("Keeping only the last")
    for words in ("You are the stock assistant", "Order 48213 for the"):
        assert words in kept
        assert words in lost
    assert "now on, never" in kept
    assert "| [Summary of earlier messages]" in out
