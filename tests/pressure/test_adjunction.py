"""The Galois connection on real windows: compressing is the meet with the plan's ceiling."""

from itertools import pairwise

from hypothesis import given

from polycontext.pressure import ContextProjector, Fidelity, Reach, View, view_of
from polycontext.pressure.plan import plan_at
from polycontext.testing import TARGETS, Head, lives, reaches
from polycontext.window import Atom, ContextWindow
from tests.pressure.samples import HEAD, is_clean

Life = tuple[ContextWindow, tuple[Atom, ...]]


@given(lives(), reaches(), TARGETS)
def test_compressing_is_the_meet_with_the_ceiling(life: Life, reach: Reach, target: float) -> None:
    """``view_of(compress(w)) == view_of(w) ∧ ceiling``, unless a summary was refused."""
    window, log = life
    result = ContextProjector(Head(), reach).compress(window, target)
    if is_clean(result):
        assert view_of(result.window, log) == view_of(window, log).meet(result.plan.ceiling(log))


@given(lives(), reaches())
def test_every_plan_of_the_chain_is_a_meet(life: Life, reach: Reach) -> None:
    """Every plan of the chain is the meet with its own ceiling, not only those for targets."""
    window, log = life
    projector = ContextProjector(Head(), reach)
    ladder = projector.ladder(window)
    for step in range(len(ladder.tokens)):
        plan = plan_at(ladder, step, 0)
        result = projector.commit(window, projector.fulfil(plan))
        if is_clean(result):
            assert view_of(result.window, log) == view_of(window, log).meet(plan.ceiling(log))
            assert result.tokens_after <= plan.tokens_promised


@given(lives(), reaches(), TARGETS, TARGETS)
def test_compressing_again_is_again_a_meet(
    life: Life, reach: Reach, first: float, second: float
) -> None:
    """Compressing twice is the meet with both ceilings, over the original log."""
    window, log = life
    projector = ContextProjector(Head(), reach)
    once = projector.compress(window, first)
    twice = projector.compress(once.window, second)
    if is_clean(once) and is_clean(twice):
        assert view_of(twice.window, log) == view_of(once.window, log).meet(twice.plan.ceiling(log))
        assert view_of(twice.window, log) <= view_of(once.window, log) <= view_of(window, log)


@given(lives(), reaches(), TARGETS)
def test_compressing_never_raises_a_fidelity(life: Life, reach: Reach, target: float) -> None:
    """Compressing never raises a fidelity, even if a summary is refused."""
    window, log = life
    result = ContextProjector(reach=reach).compress(window, target)
    before, after = view_of(window, log), view_of(result.window, log)
    assert after <= before
    assert before.meet(result.plan.ceiling(log)) <= after


@given(lives(), reaches(), TARGETS)
def test_compressing_to_a_reached_target_is_idempotent(
    life: Life, reach: Reach, target: float
) -> None:
    """A second time changes nothing at all, once the target was reached."""
    window, _ = life
    projector = ContextProjector(reach=reach)
    once = projector.compress(window, target)
    if not once.reached:
        return
    twice = projector.compress(once.window, target)
    assert twice.plan.is_empty
    assert twice.window == once.window
    assert (twice.dropped, twice.gisted, twice.first_changed, twice.tokens_saved) == (
        (),
        (),
        None,
        0,
    )


@given(lives())
def test_harsher_targets_hold_less(life: Life) -> None:
    """Antitone in the severity: the view for a lower target is below the view for a higher one."""
    window, log = life
    results = [HEAD.compress(window, target) for target in (1.0, 0.7, 0.4, 0.1, 0.0)]
    if all(is_clean(result) for result in results):
        views = [view_of(result.window, log) for result in results]
        assert all(harsh <= gentle for gentle, harsh in pairwise(views))


def test_expanding_needs_the_log() -> None:
    """Expanding adds nothing to a compressed view (the Lens Fallacy)."""
    view = View({"t1": Fidelity.GIST, "t2": Fidelity.DROPPED})
    assert HEAD.expand(view) == view
