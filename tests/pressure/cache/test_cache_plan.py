"""Cache plans: breakpoints, the layout of a request, and accounts of foreign breakpoints."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.pressure.cache.account import Account, Request
from polycontext.pressure.cache.bill import Bill, Miss, Why
from polycontext.pressure.cache.blocks import Blocks, Layout
from polycontext.pressure.cache.cache_plan import CachePlan, apply_marks
from polycontext.pressure.cache.prefix_cache import Breakpoint, Values, rules_of
from polycontext.window import ContextWindow, ToolCall, Turn
from polycontext.window.providers import Provider, Rendered, get_format
from polycontext.window.tokens.counter import EstimatingCounter

RULES = rules_of(Provider.ANTHROPIC)
TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]


def _window(*turns: Turn) -> ContextWindow:
    window = ContextWindow(100_000, counter=EstimatingCounter())
    for turn in turns:
        window = window.append(turn)
    return window


def _laid(turns: Sequence[Turn], tools: Sequence[dict[str, Any]] = ()) -> tuple[Rendered, Blocks]:
    rendered = get_format(Provider.ANTHROPIC).render(turns)
    return rendered, Layout(Provider.ANTHROPIC, EstimatingCounter()).lay(
        rendered, tools, b"", grown=False
    )


SAID = [
    Turn("system", "Be brief."),
    *(Turn(role, f"{role} {number}") for number in range(30) for role in ("user", "assistant")),
]


def test_breakpoints_stand_behind_tools_system_the_head_and_the_end() -> None:
    """At most four breakpoints are set, in order, and the end has priority."""
    _, laid = _laid(SAID, TOOLS)
    plan, end = CachePlan(mark_tools=True), len(laid.sums) - 1

    def blocks(plan: CachePlan, laid: Blocks = laid, **known: Any) -> list[int]:
        return [mark.block for mark in plan.marks(laid, RULES, **known)]

    assert blocks(CachePlan(), head=5) == [1, 4, end]
    assert blocks(plan, head=5) == [0, 1, 4, end]
    assert blocks(CachePlan(), head=2) == [1, end]
    assert blocks(CachePlan(), before=end - 19) == [1, end]
    assert blocks(CachePlan(), before=end - 30) == [1, end]  # it does not stand any more
    assert CachePlan().marks(laid, rules_of(Provider.OPENAI)) == ()
    assert blocks(CachePlan(), _laid([])[1]) == []


@given(grown=st.integers(0, 60), head=st.integers(0, 20), mark_tools=st.booleans())
def test_what_was_written_is_within_sight_of_a_breakpoint(
    grown: int, head: int, mark_tools: bool
) -> None:
    """However many blocks are added, one of at most four breakpoints sees the cached prefix."""
    layout = Layout(Provider.ANTHROPIC, EstimatingCounter())
    render = get_format(Provider.ANTHROPIC).render
    calls = [ToolCall(f"c{number}", "look", "{}") for number in range(grown)]
    turns = [
        *SAID,
        Turn("user", "Look."),
        *([Turn("assistant", None, tool_calls=calls)] if calls else []),
    ]
    first = layout.lay(render(SAID[:-1]), TOOLS, b"", grown=False)
    layout.take(first)
    plan = CachePlan(ttl="5m", head_ttl="1h", mark_tools=mark_tools)
    before = plan.marks(first, RULES, head=head)[-1].block
    rendered = render([*turns, *(Turn("tool", "a fish", tool_call_id=call.id) for call in calls)])
    marks = plan.marks(
        layout.lay(rendered, TOOLS, b"", grown=True), RULES, head=head, before=before
    )
    assert len(marks) <= 4
    assert any(0 <= mark.block - before < RULES.look_back for mark in marks)
    assert all(one.seconds >= other.seconds for one, other in pairwise(marks))


def test_no_breakpoint_stands_on_thinking() -> None:
    """It goes to the block before; a text becomes a block that can carry one."""
    thinking = {"type": "thinking", "thinking": "So.", "signature": "c2ln"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": [{"type": "text", "text": "So."}, thinking]},
    ]
    rendered = Rendered(messages, ({"type": "text", "text": "Be brief."},))
    laid = Layout(Provider.ANTHROPIC, EstimatingCounter()).lay(rendered, (), b"", grown=False)
    marks = CachePlan().marks(laid, RULES, head=2)
    assert [mark.block for mark in marks] == [0, 1, 2]
    request = apply_marks(rendered, laid, marks)
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
        assert all(
            sum(grown.message_of(block)) >= 0
            for block in range(grown.tools + grown.system, len(grown.sums))
        )
    with pytest.raises(IndexError):
        layout.lay(render(turns), (), b"m", grown=True).sums[10_000]


@frozen
class _At(CachePlan):
    """Mark the last block alone, whatever stood where."""

    def marks(self, blocks: Blocks, *_: Any, **__: Any) -> tuple[Breakpoint, ...]:
        return (Breakpoint(len(blocks.sums) - 1),)


def test_a_breakpoint_that_looks_back_too_far_is_named() -> None:
    """A miss is explained if a cached prefix is beyond every breakpoint's reach."""
    turns = [Turn("user", "Look at all of them. " * 500), Turn("assistant", "I do.")]
    account = Account(lambda: 0.0, EstimatingCounter())
    calls = [ToolCall(f"c{number}", "look", "{}") for number in range(30)]
    results = [Turn("tool", "a fish", tool_call_id=call.id) for call in calls]
    for asked in (turns[:1], [turns[0], Turn("assistant", None, tool_calls=calls), *results]):
        window, writer, ends = _window(*asked), get_format(Provider.ANTHROPIC).writer(), []
        for turn in window.all_turns():
            writer.add(turn)
            ends.append(writer.size)
        account.ask(Request(writer.finish(), window, Provider.ANTHROPIC, ends), _At())
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
