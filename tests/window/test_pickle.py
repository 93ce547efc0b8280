"""Everything a window holds can be pickled and copied, and a copy is independent."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from polycontext.testing import windows
from polycontext.window import (
    ContextWindow,
    Part,
    Role,
    ToolCall,
    Turn,
)

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
