"""Plans are pure, know their bill before any model is called, and refuse impossible targets."""

from itertools import pairwise
from math import nextafter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import InvalidOptionError
from polycontext.nodes.testing import FAST, TARGETS, lived_windows, reaches
from polycontext.pressure import ContextProjector, Fidelity, GistKind, Reach, tokens_at
from polycontext.window import ContextWindow, Role, Turn
from tests.pressure.samples import HEAD, Says, calls, extended, ids, opened, result, talk, user, words


@given(lived_windows(), reaches(), TARGETS)
def test_planning_is_pure_and_deterministic(window: ContextWindow, reach: Reach, target: float) -> None:
    """Planning twice gives the same plan, changes nothing, asks no summariser, and ignores the focus."""
    summariser = Says(AssertionError("planning asks nobody"))
    projector = ContextProjector(summariser, reach)
    before = (window.all_turns(), window.tokens, window.serial)
    assert projector.plan_for(window, target) == projector.plan_for(window.seek(0), target)
    assert (window.all_turns(), window.tokens, window.serial) == before
    assert summariser.asked == 0


@given(lived_windows(), reaches(), TARGETS)
def test_the_bill_is_honest(window: ContextWindow, reach: Reach, target: float) -> None:
    """Tokens before are those of the whole window, tokens wanted those of the target, the promise is between both ends."""
    plan = ContextProjector(reach=reach).plan_for(window, target)
    assert plan.tokens_before == sum(turn.tokens or 0 for turn in window.all_turns())
    assert plan.tokens_wanted == max(
        n for n in (int(target * window.max_tokens) + d for d in (-1, 0, 1)) if n / window.max_tokens <= target
    )
    assert plan.floor <= plan.tokens_promised <= plan.tokens_before
    assert plan.reached == (plan.tokens_promised <= plan.tokens_wanted)
    assert plan.is_empty == (plan.tokens_before <= plan.tokens_wanted or plan.floor == plan.tokens_before)


@given(lived_windows(), reaches(), TARGETS)
def test_no_more_is_achieved_than_promised(window: ContextWindow, reach: Reach, target: float) -> None:
    """The tokens after are within the promise, unless a refused summary left its sources word for word."""
    done = ContextProjector(reach=reach).compress(window, target)
    gisted = {turn for job in done.plan.jobs for turn in ids(job.sources)}
    if gisted <= set(done.gisted):
        assert done.tokens_after <= done.plan.tokens_promised


@given(lived_windows(), reaches(), TARGETS)
def test_jobs_and_drops_never_overlap(window: ContextWindow, reach: Reach, target: float) -> None:
    """What is planned are disjoint runs of turns in order, and the first of them is where the prompt cache ends."""
    plan = ContextProjector(reach=reach).plan_for(window, target)
    runs = sorted([(job.start, job.stop) for job in plan.jobs] + [(splice.start, splice.stop) for splice in plan.drops])
    assert all(left[1] <= right[0] for left, right in pairwise(runs))
    falling = [place for place, turn in enumerate(window.all_turns()) if turn.resource_id in plan.bared or place == plan.unbound_from]
    assert plan.first_changed == min([*(start for start, _ in runs[:1]), *falling], default=None)
    assert all(job.allowance >= 1 and job.reads for job in plan.jobs)


@given(st.integers(1, 10**7), st.data())
def test_tokens_of_a_target_are_exact(max_tokens: int, data: st.DataObject) -> None:
    """The most tokens whose pressure is at most the target, for any target and for those a hair beside a whole number of tokens."""
    exact = data.draw(st.integers(1, max_tokens)) / max_tokens
    for target in (exact, nextafter(exact, 0.0), min(nextafter(exact, 2.0), 1.0), data.draw(st.floats(0.0, 1.0))):
        tokens = tokens_at(target, max_tokens)
        assert tokens / max_tokens <= target < (tokens + 1) / max_tokens


@pytest.mark.parametrize("target", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None])
def test_an_impossible_target_is_refused(target: Any) -> None:
    """A target is a pressure from 0 to 1; a percentage, a truth or a text is none."""
    window = extended(opened(), talk(4))
    for attempt in (HEAD.plan_for, HEAD.compress):
        with pytest.raises(InvalidOptionError, match=r"0\.0 to 1\.0") as caught:
            attempt(window, target)
        assert isinstance(caught.value, ValueError)


def test_an_empty_window_has_an_empty_plan() -> None:
    """Nothing can be cut from nothing, and that is no error."""
    done = HEAD.compress(ContextWindow(10, counter=FAST), 0.0)
    assert done.plan.is_empty
    assert done.reached
    assert (done.floor, len(done.window)) == (0, 0)


def test_what_never_yields_is_reported() -> None:
    """Where the target cannot be reached, the floor is named in tokens, and the turns that make it up by id."""
    window = extended(opened(100), [Turn(Role.SYSTEM, words(1, 60)), user("Go on."), calls("a")])
    done = HEAD.compress(window, 0.1)
    assert not done.reached
    assert done.floor == done.tokens_after == window.tokens
    assert done.irreducible == ("t1", "t2", "t3", "t4", "t5")


def test_a_block_does_not_read_superseded_results() -> None:
    """A result that a later call replaced is stood for, but not worth a word of the summary."""
    old, new = [calls("read"), result(0, words(1, 80))], [calls("read"), result(0, words(2, 80))]
    window = extended(opened(), [*talk(2), *old, *talk(2, first=2), *new, user("Done?")])
    plan = ContextProjector(reach=Reach(keep_recent=1)).plan_within(window, 350)
    (block,) = plan.jobs
    assert block.kind is GistKind.BLOCK
    assert {"t5", "t6"} <= set(ids(block.sources))
    assert "t6" not in ids(block.reads)
    assert "t5" in ids(block.reads)


def test_a_ceiling_covers_the_whole_log() -> None:
    """Atoms of the log that the plan does not touch have the highest ceiling, whether they stand or not."""
    window = extended(opened(), [*talk(2), user("thanks!"), *talk(8, first=2)])
    plan = HEAD.plan_within(window, window.tokens - 1)
    ceiling = plan.ceiling(window.atoms())
    assert ceiling.fidelities.keys() == {atom.id for atom in window.atoms()}
    assert [atom for atom, fidelity in ceiling.fidelities.items() if fidelity is not Fidelity.VERBATIM] == ["t5"]
