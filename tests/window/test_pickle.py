"""Everything a window holds can be pickled and copied, and a copy is independent."""

import copy
import pickle
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given

from polycontext.testing import windows
from polycontext.window import (
    ContextWindow,
    EstimatingCounter,
    Part,
    Role,
    Store,
    TiktokenCounter,
    ToolCall,
    Turn,
)
from polycontext.window.store import StoreComonad

TURN = Turn(
    Role.ASSISTANT,
    "look",
    tool_calls=[ToolCall("c1", "search", '{"q": 1}')],
    metadata={"tags": ["a", {"deep": [1, None]}], "n": 2**64 - 1},
    parts=[Part("anthropic", '{"type": "thinking"}')],
    sources=["t1"],
    tokens=3,
)
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickled": lambda value: pickle.loads(pickle.dumps(value)),  # noqa: S301 - our own
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


def chat(turns: int) -> ContextWindow:
    """Return a window of so many turns."""
    window = ContextWindow(10**9, counter=EstimatingCounter())
    for number in range(turns):
        window = window.append(
            Turn(Role.USER if number % 2 else Role.SYSTEM, f"line {number}", metadata={"n": number})
        )
    return window


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    "value", [TURN, TURN.tool_calls[0], TURN.parts[0], Turn(Role.USER, "plain")], ids=repr
)
def test_a_turn_and_its_parts_survive(value: Any, way: Callable[[Any], Any]) -> None:
    """Metadata stay frozen, and the whole is equal."""
    again = way(value)
    assert again == value
    assert repr(again) == repr(value)
    if isinstance(again, Turn):
        assert again.metadata == value.metadata
        with pytest.raises(TypeError):
            again.metadata["x"] = 1  # type: ignore[index]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@given(windows(max_atoms=5))
def test_a_window_survives_and_its_copy_goes_its_own_way(
    way: Callable[[Any], Any], window: ContextWindow
) -> None:
    """A copied window keeps turns, focus, classes and open calls and is independent afterwards."""
    window = window.seek(len(window) // 2)
    before = window.all_turns()
    again = way(window)
    assert again == window
    assert (again.pos, again.tokens, again.open_calls, again.linearity) == (
        window.pos,
        window.tokens,
        window.open_calls,
        window.linearity,
    )
    turns = [Turn(Role.TOOL, "late", tool_call_id=call_id) for call_id in window.open_calls] or [
        Turn(Role.USER, "on we go")
    ]
    mine, theirs = window, again
    for turn in turns:
        mine, theirs = mine.append(turn), theirs.append(turn)
    assert mine == theirs
    assert window.all_turns() == again.all_turns() == before


@pytest.mark.no_cover
def test_pickling_a_window_is_linear() -> None:
    """Ten times the turns are ten times the bytes, whatever was derived on the way."""
    sizes = [len(pickle.dumps(chat(turns))) for turns in (1_000, 10_000)]
    assert sizes[1] < 11 * sizes[0]
    assert pickle.loads(pickle.dumps(chat(2_100))) == chat(2_100)  # noqa: S301 - our own


def test_a_counter_is_pickled_by_its_name() -> None:
    """No vocabulary travels, whether it was loaded or not."""
    counter = TiktokenCounter()
    counter.count("load it")
    assert len(pickle.dumps(ContextWindow(100, counter=counter))) < 2_000
    assert WAYS["pickled"](ContextWindow(100, counter=counter)).counter == counter


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_store_survives_where_its_function_can(way: Callable[[Any], Any]) -> None:
    """So do those derived from it."""
    store = Store("abcdef".__getitem__, last=5, pos=2)
    made: list[StoreComonad[Any]] = [
        store,
        store.map(str.upper),
        store.extend(attrgetter("pos")),
        store.duplicate(),
        chat(5).extend(attrgetter("pressure")),
    ]
    for each in made:
        assert way(each) == each


def test_a_store_of_a_function_that_cannot_be_pickled_says_so() -> None:
    """A lambda has no name to be found by."""
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(Store(lambda position: position, last=3))
