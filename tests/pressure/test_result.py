"""The result reports honestly: what it cost, what it saved, what the prompt cache still holds."""

from hypothesis import given

from polycontext.pressure import ContextProjector, Reach
from polycontext.testing.strategies import TARGETS, lived_windows, reaches
from polycontext.window import ContextWindow
from tests.pressure.samples import HEAD, extended, opened, talk, user


@given(lived_windows(), reaches(), TARGETS)
def test_the_numbers_are_those_of_the_windows(
    window: ContextWindow, reach: Reach, target: float
) -> None:
    """Tokens before and after are counted, and reached means within what was wanted.

    Turns before `first_changed` are the same, that one differs, and None means no change.
    """
    done = ContextProjector(reach=reach).compress(window, target)
    assert done.tokens_before == window.seek(len(window)).tokens
    assert done.tokens_after == done.window.tokens
    assert done.tokens_saved == done.tokens_before - done.tokens_after >= 0
    assert done.reached == (done.window.pressure <= target)
    before, after, first = window.all_turns(), done.window.all_turns(), done.first_changed
    if first is None:
        assert after == before
        return
    assert after[:first] == before[:first]
    assert after[first : first + 1] != before[first : first + 1]


def test_a_result_says_what_happened_without_any_text() -> None:
    """The representation holds numbers only, and says plainly when the target was not reached."""
    window = extended(opened(1_000), [*talk(10), user("thanks!"), *talk(6, first=10)])
    assert "reached, 1 dropped, 1" in repr(HEAD.compress(window, 0.4))
    failed = repr(HEAD.compress(window, 0.0))
    assert "not reached, floor" in failed
    assert "fact" not in failed
