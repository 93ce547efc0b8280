"""Windows share their columns, and none sees what another appended."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest
from hypothesis import given

from polycontext.testing import filled, texts, windows
from polycontext.window import ContextWindow, Role, Splice, Turn
from tests.window.test_context_window import ASSISTANT, USER, window_of


@given(windows(max_atoms=6), windows(max_atoms=6))
def test_a_window_extends_those_it_shares_its_turns_with(
    window: ContextWindow, other: ContextWindow
) -> None:
    """A window extends exactly the windows whose turns are a prefix of its own."""
    grown = window
    for call_id in window.open_calls:
        grown = grown.append(Turn(Role.TOOL, "late", tool_call_id=call_id))
    grown = grown.append(Turn(Role.USER, "on we go"))
    edited = grown.all_turns()[-1].stamped(datetime.now(UTC)).with_tokens(3)
    assert grown.extends(window)
    assert grown.extends(grown)
    assert not window.extends(grown)
    assert grown.extends(other) == (grown.all_turns()[: len(other)] == other.all_turns())
    assert grown.extends(grown.splice([Splice(0, 0)]))
    assert not grown.extends(grown.splice([Splice(0, len(grown), (edited,))]))
    assert grown.turns_from(len(window)) == list(grown.all_turns()[len(window) :])
    assert grown.turns_from(len(grown)) == []


# --- threads -------------------------------------------------------------


@pytest.fixture
def _hurry() -> Iterator[None]:
    """Let threads take turns as often as the interpreter allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_hurry")
def test_threads_may_append_to_the_same_window() -> None:
    """Threads that append to one window get independent continuations."""
    base = filled([(USER, None), (ASSISTANT, None)] * 5, 10**6)
    before = base.all_turns()
    rounds, threads = 30, 8
    shared = [filled([(turn, None) for turn in before], 10**6) for _ in range(rounds)]
    barrier = Barrier(threads)

    def continue_them(number: int) -> list[ContextWindow]:
        made = []
        for window in shared:
            barrier.wait()
            made.append(
                extended(
                    window, [Turn(Role.USER, f"thread {number} step {step}") for step in range(5)]
                )
            )
        return made

    with ThreadPoolExecutor(threads) as pool:
        for number, made in enumerate(pool.map(continue_them, range(threads))):
            for window in made:
                assert texts(window.all_turns()[len(before) :]) == [
                    f"thread {number} step {step}" for step in range(5)
                ]
                assert window.tokens == sum(turn.tokens or 0 for turn in window.all_turns())
                assert list(window.linearity) == [turn.resource_id for turn in window.all_turns()]
    assert all(texts(window.all_turns()) == texts(before) for window in shared)


# --- cost ----------------------------------------------------------------


def extended(window: ContextWindow, turns: list[Turn]) -> ContextWindow:
    """Return the window with all `turns` appended."""
    for turn in turns:
        window = window.append(turn)
    return window


def test_a_window_is_given_room_and_keeps_it_when_it_is_gone_back_to() -> None:
    """Nothing in it is looked at again; what stands once more has the room of what stood last."""
    window = window_of(USER, ASSISTANT)
    roomy = window.with_room(2 * window.max_tokens)
    assert roomy.has_contents_of(window)
    assert (roomy.max_tokens, roomy.position, roomy.total_tokens) == (
        2 * window.max_tokens,
        window.position,
        window.total_tokens,
    )
    assert window.with_room(window.max_tokens) is window
    assert not roomy.has_rules_of(window)
    assert roomy.has_rules_of(window, any_size=True)
    assert window.standing_again(roomy.append(USER)).max_tokens == roomy.max_tokens
