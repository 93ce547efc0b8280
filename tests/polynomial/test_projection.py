"""`project`: properties on generated and adversarial lists, and regression tests."""

import copy
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.polynomial import ContextOverflowError, project
from polycontext.polynomial.gist_recognition import known_again
from polycontext.polynomial.projection import _fill
from polycontext.pressure import ContextProjector, Reach
from polycontext.pressure.gist import is_gist_text, summary_marks, summary_text
from polycontext.testing import FAST
from polycontext.testing.strategies import Move
from polycontext.window import (
    REQUEST_OVERHEAD,
    ContextWindow,
    EstimatingCounter,
    InvalidMessagesError,
    Role,
    TiktokenCounter,
    TokenCounter,
    Turn,
)
from polycontext.window.providers import Provider, get_format
from tests.polynomial.conversations import (
    WORDS,
    Message,
    assistant,
    call,
    generated_messages,
    long_chat,
    recount,
    result,
    session_moves,
    system,
    user,
    words,
)

BUDGETS = st.sampled_from([60, 150, 300, 1000, 5000])
EXACT = TiktokenCounter()


def is_subsequence(some: Sequence[object], all_of: Sequence[object]) -> bool:
    """Tell whether `some` stand in `all_of` in this order."""
    rest = iter(all_of)
    return all(any(each == other for other in rest) for each in some)


def ends_open(messages: Sequence[Message]) -> bool:
    """Tell whether the list ends on calls without results."""
    try:
        get_format("openai").check(messages)
    except InvalidMessagesError:
        return True
    return False


# --- properties -------------------------------------------------------------------


@given(generated_messages(), BUDGETS, st.sampled_from([0, 2, 6]))
def test_a_projection_is_valid_within_budget_and_keeps_what_must_stay(
    messages: list[Message], budget: int, keep_recent: int
) -> None:
    """A projection is valid, within budget, in order, and keeps system, task and last user message.

    The last user message is truncated or summarised only if it leaves no room for anything else.
    """
    before = copy.deepcopy(messages)
    try:
        projection = project(messages, budget, counter=FAST, keep_recent=keep_recent)
    except ContextOverflowError as error:
        assert error.tokens > error.max_tokens == budget
        assert recount(messages, FAST) >= error.tokens
        return
    finally:
        assert messages == before
    get_format("openai").check(projection.messages, allow_open_tail=ends_open(messages))
    assert recount(projection.messages, FAST) <= projection.tokens_after <= budget
    assert recount(messages, FAST) == projection.tokens_before
    users = [m for m in messages if m["role"] == "user"]
    asked = question_fits(messages, budget) and not is_gist_text(str(users[-1]["content"]))
    own = [m for m in messages if not summary_marks(str(m["content"]))]
    kept = [m for m in own if m["role"] == "system" or m is users[0] or (m is users[-1] and asked)]
    assert is_subsequence([said(m) for m in kept], [said(m) for m in projection.messages])
    originals = [m for m in projection.messages if m in messages]
    assert is_subsequence(originals, messages)


def question_fits(messages: list[Message], budget: int) -> bool:
    """Return whether the last user message fits whole beside the unanswered calls."""
    window = _fill(
        ContextWindow(budget, counter=FAST),
        known_again(get_format("openai").parse(messages).turns, has_task=False),
    )
    question = [turn for turn in window.all_turns() if turn.role is Role.USER and not turn.is_gist][
        -1
    ]
    plan = ContextProjector(reach=Reach(cuts_question=True)).plan_for(
        window, max(0, budget - REQUEST_OVERHEAD) / budget
    )
    return question.resource_id not in plan.lowered


def said(message: Message) -> tuple[str, str]:
    """Return who says what of a message; a picture that yields leaves a line behind the words."""
    content = message["content"]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    words = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    return message["role"], re.sub(r"(^|\n)\[[^\n]*left out; recall t\d+\]", "", words)


@given(generated_messages(), BUDGETS)
def test_the_report_tells_the_truth(messages: list[Message], budget: int) -> None:
    """The report classifies every turn or piece, and names the first message that differs."""
    try:
        projection = project(messages, budget, counter=FAST)
    except ContextOverflowError:
        return
    told = [*projection.kept, *projection.gisted, *projection.dropped]
    pieces = {number for number, _, piece in (i.partition(".") for i in told) if piece}
    assert sorted(i for i in told if "." not in i) == sorted(
        f"t{number}" for number in range(1, len(messages) + 1)
    )
    kept = [messages[int(i[1:]) - 1] for i in projection.kept if "." not in i and i not in pieces]
    assert {json.dumps(m) for m in kept if not isinstance(m["content"], list)} <= {
        json.dumps(m) for m in projection.messages
    }
    same = next(
        (
            n
            for n, (old, new) in enumerate(zip(messages, projection.messages, strict=False))
            if old != new
        ),
        None,
    )
    if same is None and len(messages) != len(projection.messages):
        same = min(len(messages), len(projection.messages))
    assert projection.first_changed == same
    assert projection.changed == (same is not None) == (projection.messages != messages)
    assert projection.reached
    assert projection.floor <= max(projection.tokens_after, projection.tokens_before)
    json.dumps(projection.report())


@given(generated_messages())
def test_a_list_that_fits_comes_back_as_it_is(messages: list[Message]) -> None:
    """With room enough nothing is cut, and what comes back shares nothing with the input."""
    projection = project(messages, 1_000_000, counter=FAST)
    assert projection.messages == messages
    assert (projection.changed, projection.gisted, projection.dropped) == (False, (), ())
    projection.messages[0]["content"] = "changed"
    assert messages[0]["content"] != "changed"


@given(
    session_moves(),
    BUDGETS,
    st.sampled_from([FAST, EXACT, EstimatingCounter()]),
    st.booleans(),
    st.sets(st.integers(1, 20)),
)
def test_anthropic_lists_are_projected_alike(
    moves: list[Move], budget: int, counter: TokenCounter, readable: bool, systems: set[int]
) -> None:
    """Anthropic's lists keep the same guarantees, and are counted as they are read back."""
    wire = get_format("anthropic")
    turns = [turn for turn, _ in moves]
    for place in sorted(
        (place for place in systems if place < len(turns) and turns[place].role is not Role.TOOL),
        reverse=True,
    ):
        turns.insert(place, Turn("system", "Be brief."))
    messages = wire.render(turns, readable=readable).inline()
    before = copy.deepcopy(messages)
    try:
        projection = project(messages, budget, provider="anthropic", counter=counter)
    except ContextOverflowError as error:
        assert error.tokens > error.max_tokens == budget
        return
    finally:
        assert messages == before
    wire.check(projection.messages, allow_open_tail=True)
    assert recount(projection.messages, counter, Provider.ANTHROPIC) <= budget
    assert is_subsequence(
        [m for m in messages if m["role"] == "system" and not summary_marks(said(m)[1])],
        projection.messages,
    )
    role, task = said(messages[1 if messages[0]["role"] == "system" else 0])
    assert any(each[0] == role and task in each[1] for each in map(said, projection.messages))
    twice = project(projection.messages, budget, provider="anthropic", counter=counter)
    assert twice.messages == projection.messages
    assert twice.tokens_before == twice.tokens_after == projection.tokens_after


def test_a_history_that_the_assistant_begins_is_projected() -> None:
    """A list that the assistant begins stays so; the task is what the user said first."""
    messages = [
        assistant("Hello!"),
        user("Count to a hundred."),
        assistant(words(40)),
        user("Go on."),
    ]
    for provider in ("openai", "anthropic"):
        assert project(messages, 1_000, provider=provider, counter=FAST).messages == messages
    small = project(messages, 40, provider="anthropic", counter=FAST)
    assert "Count to a hundred." in str(small.messages)


def test_a_message_that_a_host_joined_counts_as_it_came_and_comes_apart_only_to_be_cut() -> None:
    """A joined message is unchanged if the list fits, and otherwise split to keep the task."""
    summary = summary_text("user: " + words(60, "old"))
    joined = user(f"Sort the tins.\n\n{summary}\n\nWhere are they?")
    messages = [joined, assistant("On shelf nine."), user("And the boxes?")]
    whole = project(messages, 1_000, counter=WORDS)
    assert (whole.messages, whole.changed, whole.kept) == (messages, False, ("t1", "t2", "t3"))
    assert whole.tokens_before == recount(messages, WORDS)
    cut = project(messages, 70, counter=WORDS)
    assert cut.messages[0] == user("Sort the tins.")
    assert (cut.tokens_before, set(cut.kept) >= {"t1"}, "t1.2" in cut.gisted) == (
        whole.tokens_before,
        True,
        True,
    )


# --- overflow -----------------------------------------------------------------------


@given(generated_messages(), BUDGETS)
def test_the_tokens_that_an_overflow_names_are_enough(messages: list[Message], budget: int) -> None:
    """The tokens named by an overflow error suffice, even if they admit another constraint."""
    try:
        project(messages, budget, counter=FAST)
    except ContextOverflowError as error:
        assert error.max_tokens == budget < error.tokens
        assert project(messages, error.tokens, counter=FAST).tokens_after <= error.tokens


def test_reserve_and_tools_are_part_of_the_budget() -> None:
    """Reserve and tool definitions count towards the budget."""
    tools = [
        {
            "type": "function",
            "function": {
                "name": "search",
                "description": words(40),
                "parameters": {"type": "object"},
            },
        }
    ]
    plain, with_both = (
        project(long_chat(), 900, counter=WORDS),
        project(long_chat(), 900, counter=WORDS, tools=tools, reserve=100),
    )
    assert with_both.tokens_before > plain.tokens_before + 40
    assert with_both.reserve == with_both.report()["reserve"] == 100
    assert recount(with_both.messages, WORDS) < 900 - 140


# --- input that breaks a rule -----------------------------------------------------------


BROKEN = [
    ("unknown role", [user("hi"), {"role": "poet", "content": "o"}], 1, "unknown-role"),
    (
        "unanswered call",
        [user("hi"), call("c1", "c2"), result("c1", "x"), user("well?")],
        1,
        "unanswered-call",
    ),
    ("lone surrogate", [user("hi"), assistant("caf\ud800")], 1, None),
]


@pytest.mark.parametrize(
    ("messages", "index", "rule"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_broken_input_is_refused_naming_index_and_rule(
    messages: Any, index: int, rule: str | None
) -> None:
    """Broken input is refused with message index and rule, and is left unchanged."""
    before = copy.deepcopy(messages)
    with pytest.raises(InvalidMessagesError) as caught:
        project(messages, 1000, counter=WORDS)
    assert caught.value.index == index
    assert rule in (None, caught.value.rule)
    assert messages == before


def test_an_open_tail_is_kept_word_for_word() -> None:
    """A history that ends in open calls keeps them verbatim, with their results so far."""
    tail = [call("c1", "c2"), result("c2", words(30, "found"))]
    projection = project([*long_chat(), *tail], 400, counter=WORDS, keep_recent=0)
    assert projection.messages[-2:] == tail
    assert projection.changed


def test_repair_closes_a_call_in_the_middle_and_says_so() -> None:
    """``repair=True`` adds a marked result to an unanswered call and reports it."""
    messages = [user("hi"), call("c1", "c2"), result("c2", "x"), user("well?")]
    projection = project(messages, 1000, counter=WORDS, repair=True)
    get_format("openai").check(projection.messages)
    assert [m["role"] for m in projection.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert projection.repaired == ("t4",)
    assert projection.messages[3]["tool_call_id"] == "c1"
    assert (projection.first_changed, projection.changed) == (3, True)
    assert project(projection.messages, 1000, counter=WORDS).messages == projection.messages


# --- what a query is for ---------------------------------------------------------------


def test_the_summary_prefers_what_the_query_asks_for() -> None:
    """The summary prefers text that answers the query."""
    facts = [
        f"The {name} counter {number} lies behind gate {number * 7}."
        for number, name in enumerate(["blue", "green", "red", "grey"] * 12)
    ]
    messages = [
        system("Be brief."),
        user("Learn the airport."),
        *(user(fact) if n % 2 else assistant(fact) for n, fact in enumerate(facts)),
    ]
    asked = project(messages, 320, counter=EXACT, query="Where is the red counter 42?").messages
    assert "gate 294" in str(asked)
    assert asked != project(messages, 320, counter=EXACT).messages
