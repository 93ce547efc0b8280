"""An edit is enough to do a compression again without a model."""

from datetime import UTC, datetime

import pytest
from hypothesis import given

from polycontext.linearity import InvalidOptionError, ResourceClass
from polycontext.nodes.testing import TARGETS, lived_windows, reaches
from polycontext.pressure import ContextProjector, Edit, Reach, apply_edit
from polycontext.window import ContextWindow, Splice
from tests.pressure.samples import HEAD, extended, opened, talk, user

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@given(lived_windows(), reaches(), TARGETS)
def test_applying_the_edit_again_gives_the_same_window(window: ContextWindow, reach: Reach, target: float) -> None:
    """The same edit on the same window gives the same window, ledger and counts included."""
    done = ContextProjector(reach=reach).compress(window, target)
    assert apply_edit(window, done.edit, compressed=True) == done.window


def test_gists_and_drops_are_entered_in_the_ledger() -> None:
    """A gist is REQUIRED, says where it comes from, and a drop is counted."""
    said = [*talk(10), user("thanks!"), *talk(6, first=10)]
    window = extended(opened(1_000), [turn.stamped(NOON) for turn in said])
    done = HEAD.compress(window, 0.3)
    gist = next(turn for turn in done.window.all_turns() if turn.is_gist)
    tag = done.window.linearity.tag_of(gist.resource_id)
    assert (tag.resource_class, tag.provenance, tag.when) == (ResourceClass.REQUIRED, "gist", gist.timestamp)
    assert gist.timestamp == NOON
    assert done.window.linearity.stats().drops == len(done.edit.dropped) == 1


def test_an_empty_edit_changes_no_turn() -> None:
    """It only starts the count of turns since the last compression, where it is one."""
    window = extended(opened(), talk(2))
    assert apply_edit(window, Edit(), compressed=False) == window
    after = apply_edit(window, Edit(), compressed=True)
    assert (after.all_turns(), after.turns_since_compression) == (window.all_turns(), 0)


def test_what_may_not_leave_is_refused() -> None:
    """An edit that would drop more than DROPPABLE turns is refused and changes nothing."""
    window = extended(opened(), talk(2))
    with pytest.raises(InvalidOptionError):
        apply_edit(window, Edit((Splice(2, 3),), ("t3",)), compressed=True)
    assert len(window) == 4
