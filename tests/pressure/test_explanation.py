"""A plan's explanation adds up, and gives a reason for each turn."""

from hypothesis import given

from polycontext.pressure import ContextProjector, Reach
from polycontext.pressure.threshold import tokens_at
from polycontext.testing.strategies import TARGETS, lived_windows, reaches
from polycontext.window import ContextWindow, Role, Turn
from tests.pressure.samples import extended, opened, talk, user, words


@given(lived_windows(), reaches(), TARGETS)
def test_the_rows_add_up(window: ContextWindow, reach: Reach, target: float) -> None:
    """Every turn and token of the window is in one row, and the rows add up to the promise.

    Rules that the gist repeats have a row without turns.
    """
    projector = ContextProjector(reach=reach)
    wanted = tokens_at(target, window.max_tokens)
    for plan in (
        projector.plan_for(window, target),
        projector.plan_within(window, wanted),
        projector.plan_within(window, wanted, "w1 w2"),
    ):
        told = plan.explain()
        assert (told.total.turns, told.total.before) == (len(window), plan.tokens_before)
        assert told.total.after == plan.tokens_promised
        rows = [row for row in told.rows if row.what != "rules"]
        assert all(row.turns and row.after <= row.before for row in rows)


def test_each_row_says_why() -> None:
    """Task, gisted turns, turns of the query and the last question have rows of their own."""
    window = extended(
        opened(400),
        [Turn(Role.SYSTEM, words(1, 20)), user("Find the zebra."), *talk(12), user("And now?")],
    )
    plan = ContextProjector().plan_within(window, 200, "zebra")
    told = plan.explain()
    rows = {row.what: row for row in told.rows}
    assert {"preserved", "the last user turn", "the gist"} <= set(rows)
    assert rows["preserved"].before == rows["preserved"].after
    assert rows["the gist"].after == plan.jobs[-1].allowance < rows["the gist"].before
    lines = str(told).splitlines()
    assert lines[0].split() == ["turns", "before", "->", "at", "most"]
    assert lines[-1].split()[-1] == str(plan.tokens_promised)
