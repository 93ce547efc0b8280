"""Plans are pure, know their bill before any model is called, and refuse impossible targets."""

from math import nextafter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.pressure import ContextProjector, Fidelity, GistKind, Reach
from polycontext.pressure.threshold import tokens_at
from polycontext.testing import FAST
from polycontext.testing.strategies import TARGETS, lived_windows, reaches
from polycontext.window import ContextWindow, Role, Turn
from tests.pressure.samples import (
    HEAD,
    calls,
    extended,
    ids,
    opened,
    result,
    talk,
    user,
    words,
)


@given(lived_windows(), reaches(), TARGETS)
def test_the_bill_is_honest(window: ContextWindow, reach: Reach, target: float) -> None:
    """A plan's token counts are the window's before, the target's wanted, and a promise between."""
    plan = ContextProjector(reach=reach).plan_for(window, target)
    assert plan.tokens_before == sum(turn.tokens or 0 for turn in window.all_turns())
    assert plan.tokens_wanted == tokens_at(target, window.max_tokens)
    assert plan.floor <= plan.tokens_promised <= plan.tokens_before
    assert plan.reached == (plan.tokens_promised <= plan.tokens_wanted)
    assert plan.reached or plan.tokens_promised == plan.floor
    assert plan.is_empty == (
        plan.tokens_before <= plan.tokens_wanted or plan.floor == plan.tokens_before
    )


@given(st.integers(1, 10**7), st.data())
def test_tokens_of_a_target_are_exact(max_tokens: int, data: st.DataObject) -> None:
    """The tokens of a target are the most whose pressure is at most the target."""
    exact = data.draw(st.integers(1, max_tokens)) / max_tokens
    for target in (
        exact,
        nextafter(exact, 0.0),
        min(nextafter(exact, 2.0), 1.0),
        data.draw(st.floats(0.0, 1.0)),
    ):
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


def test_a_block_does_not_read_superseded_results() -> None:
    """A result that a later call replaced is stood for, but not worth a word of the summary."""
    old, new = [calls("read"), result(0, words(1, 80))], [calls("read"), result(0, words(2, 80))]
    window = extended(opened(), [*talk(2), *old, *talk(2, first=2), *new, user("Done?")])
    plan = ContextProjector(reach=Reach(keep_recent=1)).plan_within(window, 350)
    (block,) = (job for job in plan.jobs if job.kind is GistKind.BLOCK)
    assert {"t5", "t6"} <= set(ids(block.sources))
    assert "t6" not in ids(block.reads)
    assert "t5" in ids(block.reads)


def test_a_ceiling_covers_the_whole_log() -> None:
    """Atoms that a plan does not touch have the ceiling VERBATIM, in the view or not."""
    window = extended(opened(), [*talk(2), user("thanks!"), *talk(8, first=2)])
    plan = HEAD.plan_within(window, window.tokens - 1)
    ceiling = plan.ceiling(window.atoms())
    assert ceiling.fidelities.keys() == {atom.id for atom in window.atoms()}
    assert [
        atom for atom, fidelity in ceiling.fidelities.items() if fidelity is not Fidelity.VERBATIM
    ] == ["t5"]


# --- the room is spent -------------------------------------------------------


def _logged(number: int, lines: int) -> str:
    return "\n".join(
        (
            f"step {number}.{n}: wrote src/module_{number * n}.py in {n * 37} ms, checksum "
            f"{hash_of(number, n)}"
        )
        for n in range(lines)
    )


def hash_of(*numbers: int) -> str:
    """Return what looks like a checksum."""
    return f"{sum(number * 7919**place for place, number in enumerate(numbers, 1)) % 16**8:08x}"


REAL_LIKE = st.builds(_logged, st.integers(1, 40), st.sampled_from([1, 10, 40, 80]))


@st.composite
def working(draw: st.DrawFn) -> ContextWindow:
    """Draw an agent's window of talk, calls and pinned turns, sometimes compressed before."""
    window = opened(50_000)
    for number in range(draw(st.integers(3, 12))):
        text = draw(REAL_LIKE)
        kind = draw(st.sampled_from(["user", "assistant", "calls", "calls", "pinned"]))
        turns = {
            "calls": [
                calls("read", "run", arguments=f'{{"n": {number}}}'),
                result(0, text),
                result(1, draw(REAL_LIKE)),
            ],
            "pinned": [Turn(Role.SYSTEM, f"Phase {number} begins.")],
        }.get(kind) or [Turn(Role(kind), text)]
        window = extended(window, turns)
        if number == 5 and draw(st.booleans()):
            window = ContextProjector().compress(window, 0.6 * window.pressure).window
    return window


@given(working(), st.floats(0.1, 0.95), st.sampled_from([0, 3, 6]))
def test_the_room_is_spent(window: ContextWindow, share: float, keep_recent: int) -> None:
    """A plan uses at least 99 % of its tokens; a note that needs fewer takes fewer."""
    projector = ContextProjector(reach=Reach(keep_recent=keep_recent))
    floor = projector.floor(window)
    tokens = max(floor + 1_200, int(share * window.tokens))
    plan = projector.plan_within(window, tokens)
    done = projector.commit(window, projector.fulfil(plan))
    if plan.jobs and any(job.kind is not GistKind.POINTER for job in plan.jobs):
        assert plan.tokens_promised >= 0.99 * tokens
        assert done.tokens_after <= tokens
