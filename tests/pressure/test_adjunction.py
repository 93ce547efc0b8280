"""The Galois connection on real windows: compressing is the meet with the plan's ceiling."""

from hypothesis import given

from polycontext.pressure import ContextProjector, Fidelity, Reach, View, view_of
from polycontext.pressure.plan import plan_at
from polycontext.testing.strategies import Head, lives, reaches
from polycontext.window import Atom, ContextWindow
from tests.pressure.samples import HEAD, is_clean

Life = tuple[ContextWindow, tuple[Atom, ...]]


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


def test_expanding_needs_the_log() -> None:
    """Expanding adds nothing to a compressed view (the Lens Fallacy)."""
    view = View({"t1": Fidelity.GIST, "t2": Fidelity.DROPPED})
    assert HEAD.expand(view) == view
