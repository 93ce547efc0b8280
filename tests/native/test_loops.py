"""Scripted conversations whose past the provider summarises; `just native` runs many."""

from unittest.mock import patch

import pytest

from polycontext.pressure import native
from tests.native import loops

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # the parts have tests of their own

SEEDS = 8
BROKEN = range(4)


def test_conversations_go_through_and_show_what_they_are_to_show() -> None:
    """Every loop passes, and all of them together cover each case.

    The cases: both vendors' summaries are accepted or ignored, thinking is kept, and turns behind a
    summary are recalled and erased.
    """
    found = [loops.run_loop(seed) for seed in range(SEEDS)]
    assert [each.wrong for each in found] == [[]] * SEEDS
    counts = [each.counts for each in found]
    assert all(count["requests"] > 0 for count in counts)
    assert all(
        sum(count[what] for count in each) > 0
        for each in (counts[::2], counts[1::2])
        for what in ("landed", "not taken")
    )
    assert all(
        sum(count[what] for count in counts) > 0
        for what in ("thoughts kept", "recalled", "forgotten", "promoted", "conflicts", "rewinds")
    )


def test_words_said_again_before_kept_thinking_are_missed_at_once() -> None:
    """Or else these loops would show nothing."""
    with patch.object(native, "_behind_bound", lambda window, stop, providers: stop):
        wrong = [loops.run_loop(seed).wrong for seed in BROKEN]
    assert any("different conversation" in told for each in wrong for told in each)
