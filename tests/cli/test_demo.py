"""`polycontext demo` shows one moment of a recorded conversation, on one screen."""

import re

from polycontext.cli.demo import MAX_TOKENS
from tests.cli.command import Command


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
