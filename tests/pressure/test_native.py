"""A prefix yields to a provider's own summary: where it ends, what stays and what repeats."""

import json
from typing import Any

import pytest
from attrs import evolve

from polycontext.pressure import (
    CompressionResult,
    ContextProjector,
    Fulfilment,
    NativeGist,
    Plan,
)
from polycontext.pressure.gist import summary_text
from polycontext.pressure.native import prefix_of, prefix_plan, with_twin
from polycontext.testing import FAST
from polycontext.window import ContextWindow, Part, Role, ToolCall, Turn
from polycontext.window.part import PartKind
from polycontext.window.providers import get_format
from polycontext.window.providers.anthropic.versions import COMPACTION_BETA
from tests.pressure.samples import assistant, calls, extended, opened, result, talk, user, words

BLOCK = json.dumps(
    {
        "type": "compaction",
        "content": "They talked.",
        "encrypted_content": None,
        "signature": "c2ln",
    }
)
ITEM = json.dumps({"type": "compaction", "encrypted_content": "x" * 40})
CLAUDE = NativeGist("anthropic", (BLOCK,), keeps_bound=True)
GPT = NativeGist("openai-responses", (ITEM,))


def thinking(turn: Turn, number: int) -> Turn:
    """Return `turn` with signed thinking before its words."""
    block = {"type": "thinking", "thinking": f"so {number}", "signature": f"c2ln{number}"}
    return evolve(turn, parts=(Part("anthropic", json.dumps(block)),))


def long_window(turns: int = 12) -> ContextWindow:
    """Return a window in which everybody has said much, the assistant behind its thinking."""
    said = [assistant("I begin."), *talk(turns)]
    return extended(
        opened(4_000),
        [
            thinking(turn, number) if turn.role is Role.ASSISTANT else turn
            for number, turn in enumerate(said)
        ],
    )


def landed(
    window: ContextWindow, plan: Plan, gist: object, failure: str | None = None
) -> CompressionResult:
    """Commit what was offered for `plan`."""
    return ContextProjector().commit(
        window,
        Fulfilment(plan, ((gist, failure),)),  # type: ignore[arg-type]
    )


def half(window: ContextWindow) -> Plan:
    """Return the plan to half of what the window holds."""
    return prefix_plan(window, window.total_tokens // 2)


def test_a_plan_cuts_where_another_role_goes_on_and_leaves_a_tail() -> None:
    """So that the provider takes back what it thought behind the cut."""
    window = long_window()
    plan = half(window)
    ((start, stop),) = plan.jobs[0].runs
    turns = window.all_turns()
    assert (start, turns[0].role, plan.is_native, plan.first_changed) == (1, Role.SYSTEM, True, 1)
    assert 1 < stop < len(turns)
    assert turns[stop - 1].role is not turns[stop].role
    assert prefix_of(plan) == turns[:stop]


def test_a_plan_keeps_as_long_a_tail_as_there_is_room_for() -> None:
    """One atom more would leave the gist less than its share."""
    window = long_window()
    tails = [
        len(window) - prefix_plan(window, window.total_tokens * share // 10).jobs[0].runs[0][1]
        for share in range(3, 10)
    ]
    assert tails == sorted(tails)
    assert tails[0] < tails[-1]


def test_nothing_is_planned_where_nothing_has_to_yield_or_nothing_can() -> None:
    """The plan is empty then, and leaves no prefix to anybody."""
    short = extended(opened(4_000), [assistant("Yes.")])
    window = long_window()
    for plan in (
        prefix_plan(window, window.total_tokens),
        prefix_plan(short, 1),
        prefix_plan(ContextWindow(100, counter=FAST), 0),
    ):
        assert (plan.is_empty, plan.jobs, prefix_of(plan)) == (True, (), ())


def test_the_prefix_does_not_end_in_white_space_that_a_provider_refuses() -> None:
    """Without it the words would be others than those that later thinking is bound to."""
    said = [turn if turn.role is Role.USER else assistant(f"{turn.text} ") for turn in talk(8)]
    window = extended(opened(4_000), [*said, assistant(words(9)), user("And?")])
    cuts = {
        prefix_of(plan)[-1].text[-1]
        for share in range(1, 10)
        if not (plan := prefix_plan(window, window.total_tokens * share // 10)).is_empty
    }
    assert cuts
    assert " " not in cuts


def test_calls_are_never_parted_from_their_results() -> None:
    """Open ones stand whole."""
    atoms = [
        turn
        for number in range(6)
        for turn in (calls("look", "find"), result(0, words(number)), result(1, words(number + 50)))
    ]
    window = extended(opened(4_000), [*atoms, calls("look")])
    for share in range(1, 10):
        for job in prefix_plan(window, window.total_tokens * share // 10).jobs:
            assert window.all_turns()[job.runs[0][1]].role is Role.ASSISTANT


def test_a_gist_stands_first_and_what_may_not_yield_is_said_again_behind_the_last_thinking() -> (
    None
):
    """The task comes back behind what the provider keeps valid; nothing that was bound falls."""
    window = long_window()
    done = landed(window, half(window), CLAUDE)
    turns = done.window.all_turns()
    gist, task = turns[1], window.all_turns()[1]
    assert [part.kind for part in gist.parts] == [PartKind.NATIVE]
    assert gist.sources == tuple(turn.resource_id for turn in prefix_of(done.plan)[1:])
    place = turns.index(task)
    bound = [index for index, turn in enumerate(turns) if any(part.is_bound for part in turn.parts)]
    assert max(bound) == place - 1
    assert [*turns[2:place], *turns[place + 1 :]] == [
        *window.all_turns()[len(prefix_of(done.plan)) :]
    ]
    assert (done.window.epoch.fell, done.window.epoch.unbound, done.edit.keeps_bound) == (
        (),
        (),
        ("anthropic",),
    )
    assert task.resource_id in done.kept
    assert task.resource_id not in done.gisted


def test_where_the_provider_keeps_nothing_valid_the_task_stands_right_behind_the_gist() -> None:
    """And what was bound behind the first change falls, as by any compression."""
    window = long_window()
    done = landed(window, half(window), GPT)
    assert done.window.all_turns()[2] == window.all_turns()[1]
    assert not any(part.is_bound for turn in done.window.all_turns() for part in turn.parts)
    assert done.window.epoch.unbound == ("anthropic",)


def test_thinking_of_another_provider_falls_behind_a_summary_that_is_not_its_own() -> None:
    """It keeps its own alone."""
    reasoning = Part(
        "openai-responses",
        json.dumps({"type": "reasoning", "summary": [], "encrypted_content": "x"}),
    )
    window = long_window().append(
        evolve(assistant("Mixed."), parts=(reasoning, *thinking(assistant(""), 99).parts))
    )
    done = landed(window, half(window), CLAUDE)
    last = done.window.all_turns()[-2]
    assert (last.text, [part.provider for part in last.parts]) == ("Mixed.", ["anthropic"])
    assert done.window.epoch.unbound == ("openai-responses",)


def test_turns_that_came_since_the_plan_stay_behind_it() -> None:
    """And what is said again stands behind their thinking too."""
    window = long_window()
    plan = half(window)
    grown = window.append(thinking(assistant("Since."), 50))
    done = landed(grown, plan, CLAUDE)
    assert [turn.text for turn in done.window.all_turns()[-2:]] == [
        "Since.",
        window.all_turns()[1].text,
    ]


def test_inside_an_open_call_the_task_stands_before_it_and_what_was_thought_there_falls() -> None:
    """Nothing may stand between a call and its results; thinking before it stays valid."""
    window = long_window(13)
    plan = half(window)
    call = thinking(Turn(Role.ASSISTANT, "I look.", tool_calls=[ToolCall("c0", "look")]), 77)
    done = landed(window.append(call), plan, CLAUDE)
    before, last = done.window.all_turns()[-2:]
    assert (before, last.text, last.parts) == (window.all_turns()[1], "I look.", ())
    assert done.window.epoch.unbound == ("anthropic",)
    assert sum(part.is_bound for turn in done.window.all_turns() for part in turn.parts) > 0


@pytest.mark.parametrize(
    ("offer", "why"),
    [
        (None, "no provider was asked"),
        ("They talked.", "str, not a provider's own"),
        (NativeGist("anthropic", ()), "is empty"),
        (NativeGist("anthropic", ("no JSON",)), "cannot be stored"),
        (NativeGist("anthropic", ("[]",)), "cannot be stored"),
        (NativeGist("anthropic", ('{"content": "x"}',)), "cannot be stored"),
        (NativeGist("anthropic", (BLOCK,), tokens=100_000), "takes 100004 tokens"),
        (
            NativeGist(
                "anthropic", (json.dumps({"type": "compaction", "content": words(1, 5_000)}),)
            ),
            "tokens, its allowance is",
        ),
    ],
)
def test_what_is_no_good_changes_nothing_and_is_reported(offer: Any, why: str) -> None:
    """An unusable provider summary is reported and changes nothing, without an extract instead."""
    window = long_window()
    done = landed(window, half(window), offer)
    assert done.window.all_turns() == window.all_turns()
    assert why in done.rejections[0].reason
    assert (done.gisted, done.edit.is_empty) == ((), True)


def test_the_tokens_are_what_the_provider_says_or_its_twin_takes_and_within_the_promise() -> None:
    """Of the two readings the longer one counts, so that no provider is sent more than is told."""
    window = long_window()
    plan = half(window)
    for told in (None, 50, plan.jobs[0].allowance - 4):
        done = landed(window, plan, evolve(CLAUDE, tokens=told))
        gist = done.window.all_turns()[1]
        assert gist.tokens is not None
        assert (told or 0) < gist.tokens <= plan.jobs[0].allowance
        assert FAST.count(gist.text) <= gist.tokens
        assert done.tokens_after <= plan.tokens_promised
        assert done.reached


def test_a_twin_is_made_of_the_turns_that_yield_and_shortened_where_it_is_too_long() -> None:
    """It says their words, and none of what is said again."""
    window = long_window()
    plan = half(window)
    twin = with_twin(plan, CLAUDE).twin
    assert twin is not None
    assert "fact" in twin
    assert window.all_turns()[1].text not in twin
    texts = [
        landed(window, plan, evolve(CLAUDE, twin=given)).window.all_turns()[1].text
        for given in (twin, twin * 20, None, "")
    ]
    assert texts[0] == summary_text(twin)
    assert all(
        text.count("[Summary") == text.count("[End") == 1 and "fact" in text for text in texts[1:3]
    )
    assert texts[3] == "[Summary of earlier messages]\n(no text)\n[End of summary]"


def test_each_provider_is_sent_its_own_block_and_all_others_the_twin() -> None:
    """Each provider gets its own block, with its role, place and header, others the text twin."""
    window = long_window()
    done = landed(window, half(window), CLAUDE).window.all_turns()
    anthropic = get_format("anthropic").render(done)
    assert anthropic.messages[0] == {"role": "assistant", "content": [json.loads(BLOCK)]}
    assert anthropic.options == {"betas": [COMPACTION_BETA]}
    get_format("anthropic").check(anthropic.messages)
    for other in ("openai", "openai-responses"):
        messages = get_format(other).render(done).messages
        get_format(other).check(messages)
        assert messages[1]["content"] == done[1].text
        assert BLOCK not in json.dumps(messages)


def test_our_own_summary_takes_the_place_of_a_native_one() -> None:
    """Its block goes, its sources stay named, and kept thinking falls behind the change."""
    window = long_window()
    first = landed(window, half(window), CLAUDE).window
    again = ContextProjector().compress(first, 0.4 * first.total_tokens / first.max_tokens).window
    gist = next(turn for turn in again.all_turns() if turn.sources)
    assert set(first.all_turns()[1].sources) <= set(gist.sources)
    assert gist.parts == ()


def test_the_explanation_tells_what_the_promise_is_spent_on() -> None:
    """Row by row, and all rows together are the promise."""
    window = long_window()
    plan = half(window)
    assert plan.explain().total.after == plan.tokens_promised
    assert plan.facts == ()


def test_a_turn_that_states_a_rule_is_repeated_behind_a_native_gist() -> None:
    """A provider's summary may leave the rule out."""
    rule = f"Never delete a file. {words(90, 60)}"
    window = extended(opened(2_000), [*talk(2), user(rule), *talk(12, first=2)])
    (job,) = prefix_plan(window, 500).jobs
    assert rule in [turn.text for turn in job.again]
