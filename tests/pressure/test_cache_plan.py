"""Cache plans: where the breakpoints of a request stand."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.pressure.cache import LOOK_BACK, CachePlan, with_breakpoints
from polycontext.window import ContextWindow, ToolCall, Turn
from polycontext.window.providers import Provider, Rendered, get_format
from polycontext.window.tokens.counter import EstimatingCounter

TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]


def _window(*turns: Turn) -> ContextWindow:
    window = ContextWindow(100_000, counter=EstimatingCounter())
    for turn in turns:
        window = window.append(turn)
    return window


def _marked(turns: Sequence[Turn], plan: CachePlan) -> list[tuple[int, str]]:
    """Return the breakpoints of a request."""
    rendered, ends = _written(turns)
    return _marks(with_breakpoints(rendered, plan, _window(*turns), ends))


def _written(turns: Sequence[Turn]) -> tuple[Rendered, list[int]]:
    writer, ends = get_format(Provider.ANTHROPIC).writer(), list[int]()
    for turn in turns:
        writer.add(turn)
        ends.append(writer.size)
    return writer.finish(), ends


def _marks(rendered: Rendered) -> list[tuple[int, str]]:
    """Return the blocks with a breakpoint, counted from the system message on, and its lifetime."""
    contents = [[*rendered.system], *(message["content"] for message in rendered.messages)]
    blocks = [
        block for content in contents for block in ([{}] if isinstance(content, str) else content)
    ]
    found = ((place, block.get("cache_control")) for place, block in enumerate(blocks))
    return [(place, mark.get("ttl", "5m")) for place, mark in found if mark]


SAID = [
    Turn("system", "Be brief."),
    *(Turn(role, f"{role} {number}") for number in range(30) for role in ("user", "assistant")),
]


def test_breakpoints_stand_behind_system_the_head_and_the_end() -> None:
    """At most four breakpoints are set, in order, and the end has priority."""
    end = len(SAID) - 1

    def blocks(plan: CachePlan, turns: Sequence[Turn] = SAID) -> list[int]:
        return [block for block, _ in _marked(turns, plan)]

    assert blocks(CachePlan()) == [0, 1, end]
    assert blocks(CachePlan(), [*SAID, *_parallel(9)]) == [0, 1, end + 19]
    assert blocks(CachePlan(), [*SAID, *_parallel(10)]) == [0, 1, end + 1, end + 21]
    assert blocks(CachePlan(mark_tools=True), [*SAID, *_parallel(10)]) == [0, end + 1, end + 21]


def _parallel(count: int) -> list[Turn]:
    """Return a question, parallel calls and their results."""
    calls = [ToolCall(f"c{number}", "look", "{}") for number in range(count)]
    return [
        Turn("user", "Look."),
        *([Turn("assistant", None, tool_calls=calls)] if calls else []),
        *(Turn("tool", "a fish", tool_call_id=call.id) for call in calls),
    ]


@given(grown=st.integers(0, 60), mark_tools=st.booleans(), pinned=st.integers(0, 5))
def test_what_was_written_is_within_sight_of_a_breakpoint(
    grown: int, mark_tools: bool, pinned: int
) -> None:
    """However many blocks are added, one of at most four breakpoints sees the cached prefix."""
    plan = CachePlan(ttl="5m", head_ttl="1h", mark_tools=mark_tools)
    turns = [*SAID[:-1], Turn("assistant", "So."), *_parallel(grown)]
    asked = next(place for place, turn in reversed([*enumerate(turns)]) if turn.role == "assistant")
    before, _ = _marked(turns[:asked], plan)[-1]
    marks = _marked(turns, plan)
    assert len(marks) <= 4 - mark_tools
    assert any(0 <= block - before < LOOK_BACK for block, _ in marks)
    assert all((one, other) != ("5m", "1h") for (_, one), (_, other) in pairwise(marks))


def test_no_breakpoint_stands_on_thinking() -> None:
    """It goes to the block before; a text becomes a block that can carry one."""
    thinking = {"type": "thinking", "thinking": "So.", "signature": "c2ln"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": [{"type": "text", "text": "So."}, thinking]},
    ]
    rendered = Rendered(messages, ({"type": "text", "text": "Be brief."},))
    window = _window(Turn("system", "Be brief."), Turn("user", "Hi."), Turn("assistant", "So."))
    request = with_breakpoints(rendered, CachePlan(), window, [1, 2, 4])
    assert [block for block, _ in _marks(request)] == [0, 1, 2]
    assert [list(block) for block in request.messages[1]["content"]] == [
        ["type", "text", "cache_control"],
        ["type", "thinking", "signature"],
    ]
    assert request.messages[0]["content"] == [
        {"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}
    ]
    assert CachePlan(mark_tools=True, head_ttl="1h").marked_tools(TOOLS)[0]["cache_control"] == {
        "type": "ephemeral",
        "ttl": "1h",
    }


@pytest.mark.parametrize(
    "wrong",
    [{"ttl": "2h"}, {"ttl": None}, {"head_ttl": "5"}, {"key": ""}, {"key": "k" * 65}, {"key": 3}],
)
def test_a_plan_that_no_vendor_takes_is_refused(wrong: dict[str, Any]) -> None:
    """When it is made, in words."""
    with pytest.raises(InvalidOptionError, match="Use "):
        CachePlan(**wrong)
