"""Cache plans: breakpoints, the layout of a request, and accounts of foreign breakpoints."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.bill.account import Account, Request
from polycontext.bill.blocks import Blocks, Layout
from polycontext.bill.entries import Bill, Miss, Why
from polycontext.bill.prefix_cache import Breakpoint, Values
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


def _marked(turns: Sequence[Turn], plan: CachePlan) -> tuple[Breakpoint, ...]:
    """Return the breakpoints of a request, counting blocks from the system message on."""
    rendered, ends = _written(turns)
    request = with_breakpoints(rendered, plan, _window(*turns), ends)
    return _laid(request).marks


def _written(turns: Sequence[Turn]) -> tuple[Rendered, list[int]]:
    writer, ends = get_format(Provider.ANTHROPIC).writer(), list[int]()
    for turn in turns:
        writer.add(turn)
        ends.append(writer.size)
    return writer.finish(), ends


def _laid(rendered: Rendered) -> Blocks:
    return Layout(Provider.ANTHROPIC, EstimatingCounter()).lay(rendered, (), b"", grown=False)


SAID = [
    Turn("system", "Be brief."),
    *(Turn(role, f"{role} {number}") for number in range(30) for role in ("user", "assistant")),
]


def test_breakpoints_stand_behind_system_the_head_and_the_end() -> None:
    """At most four breakpoints are set, in order, and the end has priority."""
    end = len(SAID) - 1

    def blocks(plan: CachePlan, turns: Sequence[Turn] = SAID) -> list[int]:
        return [mark.block for mark in _marked(turns, plan)]

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
    before = _marked(turns[:asked], plan)[-1].block
    marks = _marked(turns, plan)
    assert len(marks) <= 4 - mark_tools
    assert any(0 <= mark.block - before < LOOK_BACK for mark in marks)
    assert all(one.seconds >= other.seconds for one, other in pairwise(marks))


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
    assert [mark.block for mark in _laid(request).marks] == [0, 1, 2]
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


@pytest.mark.parametrize("provider", Provider)
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=8))
def test_a_request_that_grows_is_laid_out_as_if_it_were_new(
    provider: Provider, sizes: list[int]
) -> None:
    """Digests, tokens and places are the same; what stood before is common."""
    render = get_format(provider).render
    layout, turns = Layout(provider, EstimatingCounter()), SAID[:2]
    for size in sizes:
        layout.take(layout.lay(render(turns), (), b"m", grown=False))
        turns = SAID[: len(turns) + 2 * size]
        grown = layout.lay(render(turns), (), b"m", grown=True)
        anew = Layout(provider, EstimatingCounter()).lay(render(turns), (), b"m", grown=False)
        columns: list[tuple[Values[object], Values[object]]] = [
            (grown.digests, anew.digests),
            (grown.sums, anew.sums),
            (grown.ends, anew.ends),
        ]
        for one, other in columns:
            assert [one[place] for place in range(len(one))] == [
                other[place] for place in range(len(other))
            ]
        assert grown.up_to(grown.common) > 0
    with pytest.raises(IndexError):
        layout.lay(render(turns), (), b"m", grown=True).sums[10_000]


def test_a_breakpoint_that_looks_back_too_far_is_named() -> None:
    """A miss is explained if a cached prefix is beyond every breakpoint's reach."""
    turns = [Turn("user", "Look at all of them. " * 500), *_parallel(30)[1:]]
    account = Account(lambda: 0.0, EstimatingCounter())
    for asked in (turns[:1], turns):
        rendered, ends = _written(asked)
        rendered.messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        account.add(Request(rendered, _window(*asked), Provider.ANTHROPIC, ends))
    assert [miss.why for miss in account.bill().last] == [Why.FAR]


def test_a_bill_prints_itself() -> None:
    """Shares, sums and reasons, the largest first; nothing of an empty one fails."""
    bill = Bill(
        3,
        90,
        {300.0: 10},
        0,
        4,
        (Miss(Why.STEP, 1), Miss(Why.EXPIRED, 5, times=2)),
        units=21.5,
        money=0.25,
    )
    assert str(bill).splitlines() == [
        "3 requests, 100 tokens: 90.0% read from the cache",
        "read 90, written 10, in full 0, answered 0",
        "new 4, missed 6",
        "  5 tokens: expired, 2 times",
        "  1 tokens: a step not full",
        "as 22 tokens at the input price; 0.2500 in money",
    ]
    assert Bill().read_share == 0
    assert math.isclose(bill.read_share, 0.9)
