"""The result reports honestly: what it cost, what it saved, what the prompt cache still holds."""

from hypothesis import given

from polycontext.pressure import ContextProjector, Reach
from polycontext.testing import TARGETS, lived_windows, reaches
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.part_removal import bare
from tests.pressure.samples import HEAD, extended, opened, talk, user, words


@given(lived_windows(), reaches(), TARGETS)
def test_the_numbers_are_those_of_the_windows(window: ContextWindow, reach: Reach, target: float) -> None:
    """Tokens before and after are counted, and reached means within what was wanted."""
    done = ContextProjector(reach=reach).compress(window, target)
    assert done.tokens_before == window.seek(len(window)).tokens
    assert done.tokens_after == done.window.tokens
    assert done.tokens_saved == done.tokens_before - done.tokens_after >= 0
    assert done.reached == (done.window.pressure <= target)


@given(lived_windows(), reaches(), TARGETS)
def test_the_prefix_before_the_first_change_is_untouched(window: ContextWindow, reach: Reach, target: float) -> None:
    """Up to the first changed index every turn is the same, and the one there is not; None means nothing changed."""
    done = ContextProjector(reach=reach).compress(window, target)
    before, after, first = window.all_turns(), done.window.all_turns(), done.first_changed
    if first is None:
        assert after == before
        return
    assert after[:first] == before[:first]
    assert after[first : first + 1] != before[first : first + 1]


@given(lived_windows(), reaches(), TARGETS)
def test_what_is_irreducible_is_kept(window: ContextWindow, reach: Reach, target: float) -> None:
    """The turns that never yield are among the kept ones, and without their parts weigh no more than the floor."""
    done = ContextProjector(reach=reach).compress(window, target)
    assert set(done.irreducible) <= set(done.kept)
    fixed = sum(bare(turn, window.counter).tokens or 0 for turn in window.all_turns() if turn.resource_id in done.irreducible)
    assert fixed <= done.floor <= done.tokens_before


def test_payback_counts_turns_until_the_lost_cache_is_paid_for() -> None:
    """The longer the changed part, and the smaller the saving, the longer it takes; without a change it is free."""
    pinned = Turn(Role.SYSTEM, words(99, 300))
    early = HEAD.compress(extended(opened(2_000), [*talk(10), pinned, *talk(6, first=20)]), 0.7)
    late = HEAD.compress(extended(opened(2_000), [pinned, *talk(10), *talk(6, first=20)]), 0.7)
    assert early.first_changed is not None
    assert late.first_changed is not None
    assert early.first_changed < late.first_changed
    assert 0.0 < late.payback_turns() < early.payback_turns()
    assert early.payback_turns(0.5) < early.payback_turns(0.9)
    assert early.payback_turns(0.0) == 0.0
    assert HEAD.compress(opened(2_000), 0.7).payback_turns() == 0.0


def test_payback_is_the_changed_part_over_the_saving() -> None:
    """The first request pays the changed part in full, each later one saves the difference at the cached price."""
    window = extended(opened(1_000), talk(12))
    done = HEAD.compress(window, 0.3)
    assert done.first_changed == 2
    changed = done.tokens_after - window.seek(2).tokens
    assert done.payback_turns(0.75) == changed * 0.75 / (done.tokens_saved * 0.25)
    assert done.payback_turns() == done.payback_turns(0.9)


def test_a_cache_that_costs_nothing_is_never_paid_for() -> None:
    """Where cached tokens are free nothing is saved; where they cost next to nothing it takes long, but not for ever."""
    done = HEAD.compress(extended(opened(1_000), talk(12)), 0.3)
    assert done.payback_turns(1.0) == float("inf")
    assert done.tokens_saved * 0.001 < 1.0
    assert done.payback_turns(0.99) < done.payback_turns(0.999) < float("inf")


def test_a_result_says_what_happened_without_any_text() -> None:
    """The representation holds numbers only, and says plainly when the target was not reached."""
    window = extended(opened(1_000), [*talk(10), user("thanks!"), *talk(6, first=10)])
    assert "reached, 1 dropped, 1" in repr(HEAD.compress(window, 0.4))
    failed = repr(HEAD.compress(window, 0.0))
    assert "not reached, floor" in failed
    assert "fact" not in failed
