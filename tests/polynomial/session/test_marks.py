"""A session's marks are shares of the free room, so fixed content costs only its own tokens."""

from itertools import pairwise

import pytest

from polycontext.polynomial import ContextSession
from polycontext.pressure.threshold import session_threshold
from polycontext.window import EstimatingCounter

ROOM = 4_000
COUNTER = EstimatingCounter()
CODES = [f"AB-{1000 + 7 * number}" for number in range(150)]


def grown(share: float) -> ContextSession:
    """Return a session whose system prompt takes `share` of the budget, after 150 orders."""
    session = ContextSession(ROOM, counter=COUNTER)
    session.add_system(
        "Mind the shelves. " * max(1, int(share * ROOM / COUNTER.count("Mind the shelves. ")))
    )
    session.add_user_turn("Sort the orders.")
    for number, code in enumerate(CODES):
        session.add_user_turn(
            f"Order {code} goes to shelf {number}, please, and mind the {number}th box beside "
            "it, which is fragile."
        )
        session.add_assistant_turn(
            f"Done: order {code} stands on shelf {number}; the box beside it was moved first."
        )
    return session


@pytest.mark.gate
def test_a_large_system_prompt_takes_its_room_and_no_more() -> None:
    """With a growing system prompt, retention follows the free room without a sudden drop."""
    kept, often = [], []
    for share in (0.4, 0.5, 0.6, 0.7, 0.8):
        session = grown(share)
        text = " ".join(turn.text for turn in session.window.all_turns())
        free = 1 - session.policy.projector.floor(session.window) / ROOM
        kept.append(sum(code in text for code in CODES) / free)
        often.append(session.window.epoch.number * free)
    assert all(later > 0.8 * before for before, later in pairwise(kept))
    assert all(later < 1.25 * before for before, later in pairwise(often))


def test_a_session_has_marks_of_its_own_that_follow_the_free_room() -> None:
    """It is given the pair that the benchmarks chose; what the window preserves moves both up."""
    empty, large = ContextSession(ROOM, counter=COUNTER), grown(0.8)
    assert empty.policy.threshold == session_threshold()
    high = session_threshold().high()
    assert empty.policy.mark(empty.window) == high < large.policy.mark(large.window) < 1


def test_a_compression_by_hand_makes_room_below_the_marks() -> None:
    """An explicit compression frees tokens below the marks, where the session would still wait."""
    session = ContextSession(2_000, counter=COUNTER)
    for number in range(32):
        session.add_user_turn(f"Where is tin {number}? " + "It was on the shelf. " * 4)
        session.add_assistant_turn(f"Tin {number} is on shelf {number * 7}.")
    assert session.window.epoch.number == 1
    before = session.window.tokens
    assert 0.5 < before / 2_000 < session.policy.threshold.low
    assert session.background.plan().lowered
    assert session.compress().compressed
    floor = session.policy.projector.floor(session.window)
    assert session.window.tokens <= floor + 0.4 * (2_000 - floor) + (
        session.window.all_turns()[-1].tokens or 0
    )
