"""Windows share their columns, and none ever sees what another appended: forks, threads, old versions."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes.testing import filled, texts, windows
from polycontext.window import ContextWindow, Role, Splice, Turn
from polycontext.window.spine import Spine

USER, ASSISTANT = Turn(Role.USER, "hello there"), Turn(Role.ASSISTANT, "hi")


def window_of(*turns: Turn) -> ContextWindow:
    """Return the window of these turns."""
    return filled([(turn, None) for turn in turns])


def test_contents_are_shared_by_windows_that_differ_in_focus_alone() -> None:
    """`has_contents_of` sees through the focus, and not through equal twins."""
    window = window_of(USER, ASSISTANT)
    assert window.seek(0).has_contents_of(window)
    assert not window_of(USER, ASSISTANT).has_contents_of(window)


@given(windows(max_atoms=6), st.data())
def test_appending_to_an_old_window_forks_it(window: ContextWindow, data: st.DataObject) -> None:
    """Two continuations of one window know nothing of each other."""
    if window.open_calls:
        return
    left, right = window.append(Turn(Role.USER, "left")), window.append(Turn(Role.USER, "right"))
    deeper = left.append(Turn(Role.ASSISTANT, "left again"))
    assert texts(left.all_turns())[:-1] == texts(right.all_turns())[:-1] == texts(window.all_turns())
    assert (texts(left.all_turns())[-1], texts(right.all_turns())[-1]) == ("left", "right")
    assert texts(deeper.all_turns())[-2:] == ["left", "left again"]
    assert right.linearity.get(right.all_turns()[-1].resource_id) is right.class_of(right.all_turns()[-1])


@given(windows(max_atoms=6), windows(max_atoms=6))
def test_a_window_extends_those_it_shares_its_turns_with(window: ContextWindow, other: ContextWindow) -> None:
    """The newest continuation extends its ancestors; whenever it says so the ancestor's turns are a prefix; a stranger is not extended."""
    grown = window
    for call_id in window.open_calls:
        grown = grown.append(Turn(Role.TOOL, "late", tool_call_id=call_id))
    grown = grown.append(Turn(Role.USER, "on we go"))
    assert grown.extends(window)
    assert grown.extends(grown)
    assert not window.extends(grown)
    assert not grown.extends(other)
    assert not grown.extends(grown.splice([Splice(0, 0)]))
    assert grown.turns_from(len(window)) == list(grown.all_turns()[len(window) :])
    assert grown.turns_from(len(grown)) == []


def test_turns_read_from_an_index_end_with_the_window() -> None:
    """Turns that a newer window appended to the shared columns are not shown by an older one."""
    window = window_of(USER, ASSISTANT)
    window.append(USER)
    assert texts(window.turns_from(1)) == ["hi"]


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
    """Each thread gets its own continuation; none sees another's turns, and the shared window stays as it is."""
    base = filled([(USER, None), (ASSISTANT, None)] * 5, 10**6)
    before = base.all_turns()
    rounds, threads = 30, 8
    shared = [filled([(turn, None) for turn in before], 10**6) for _ in range(rounds)]
    barrier = Barrier(threads)

    def continue_them(number: int) -> list[ContextWindow]:
        made = []
        for window in shared:
            barrier.wait()
            made.append(extended(window, [Turn(Role.USER, f"thread {number} step {step}") for step in range(5)]))
        return made

    with ThreadPoolExecutor(threads) as pool:
        for number, made in enumerate(pool.map(continue_them, range(threads))):
            for window in made:
                assert texts(window.all_turns()[len(before) :]) == [f"thread {number} step {step}" for step in range(5)]
                assert window.tokens == sum(turn.tokens or 0 for turn in window.all_turns())
                assert list(window.linearity) == [turn.resource_id for turn in window.all_turns()]
    assert all(texts(window.all_turns()) == texts(before) for window in shared)


class Sleepy(list[Turn]):
    """Let other threads run right after telling the length."""

    def __len__(self) -> int:
        length = super().__len__()
        sleep(0.002)
        return length


def test_only_one_thread_writes_behind_the_end() -> None:
    """Of threads that extend the same columns at once one gets them, and the others get copies, each with its own turn."""
    spine, threads = Spine(turns=Sleepy()), 4
    barrier = Barrier(threads)

    def extend_it(number: int) -> Spine:
        barrier.wait()
        return spine.extended(0, Turn(Role.USER, str(number)), 1, joins=False)

    with ThreadPoolExecutor(threads) as pool:
        made = list(pool.map(extend_it, range(threads)))
    assert sum(each is spine for each in made) == 1
    assert [texts(each.turns[:1]) for each in made] == [[str(number)] for number in range(threads)]
    assert all(each.sums == [0, 1] for each in made)


def extended(window: ContextWindow, turns: list[Turn]) -> ContextWindow:
    """Return the window with all `turns` appended."""
    for turn in turns:
        window = window.append(turn)
    return window
