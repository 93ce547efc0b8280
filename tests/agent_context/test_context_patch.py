"""The laws of patches between contexts, and their summaries and JSON forms."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import (
    AgentContext,
    ContextPatch,
    DiffTracker,
    deserialize,
    diff,
    serialize,
)
from polycontext.agent_context.json_text import canonical, dumps
from polycontext.agent_context.records import ContextDiff, Fact, Intent
from polycontext.base import InvalidDataError, UnknownNameError
from tests.agent_context.changes import FACTS, RICH, START, chains, write

WHEN = datetime(2026, 3, 1, 9, tzinfo=UTC)
NAMES = st.sampled_from(["", "inference", "validation", "a, b"])


def same(left: AgentContext, right: AgentContext) -> bool:
    """Tell whether two contexts are the same to the last type: 1 is neither true nor 1.0."""
    return left == right and canonical(left) == canonical(right)


@given(chains(2))
def test_a_patch_leads_from_one_context_to_the_other_and_back(pair: list[AgentContext]) -> None:
    """``diff(a, b)`` leads from `a` to `b`, its inverse back, and inverting twice is a no-op."""
    a, b = pair
    patch = diff(a, b)
    assert same(patch.apply(a), b)
    assert same(patch.invert().apply(b), a)
    assert patch.invert().invert() == patch


@given(chains(1))
def test_a_context_does_not_differ_from_its_equal(one: list[AgentContext]) -> None:
    """A context does not differ from itself, nor from an equal one that shares nothing with it."""
    (context,) = one
    assert not diff(context, context)
    assert not diff(context, deserialize(serialize(context)))


@given(chains(2), NAMES)
def test_a_patch_comes_back_from_json(pair: list[AgentContext], name: str) -> None:
    """A patch survives its audit record and JSON text."""
    patch = diff(*pair, agent_id=name, timestamp=WHEN)
    again = ContextPatch.of(ContextDiff.from_json(json.loads(serialize_record(patch))))
    assert again == patch
    assert same(again.apply(pair[0]), pair[1])


def serialize_record(patch: ContextPatch) -> bytes:
    """Return the record of a patch as JSON text."""
    return dumps(patch.record())


SUMMARIES: list[tuple[dict[str, Any], str]] = [
    ({}, "none"),
    (
        {"reasoning__intents": [Intent("query", 0.9), Intent("more", 0.5)]},
        "reasoning.intents_added=1",
    ),
    (
        {"enrichment__facts": (*FACTS[:2], Fact("f2", "else"), *FACTS[3:5])},
        "enrichment.facts_removed=1, enrichment.facts_changed=1",
    ),
    (
        {"reasoning__entities": {"person": "Eve", "thing": 1}},
        "reasoning.entities_added=1, reasoning.entities_removed=1, reasoning.entities_changed=1",
    ),
    (
        {"llm__model": "small", "reasoning__summary": ""},
        "reasoning.summary_changed=1, llm.model_changed=1",
    ),
    (
        {"llm__usage": None, "reasoning__dependency_map": [1]},
        "reasoning.dependency_map_changed=1, llm.usage_changed=1",
    ),
    (
        {
            "diagnostics__performance": {
                "total_duration_ms": 5,
                "agent_metrics": {"inference": {"duration_ms": 6}},
            }
        },
        "diagnostics.performance_changed=1",
    ),
]


@pytest.mark.parametrize(("changes", "told"), SUMMARIES)
def test_the_summary_counts_by_key(changes: dict[str, Any], told: str) -> None:
    """The summary counts additions, removals and changes by key, in the order of the document."""
    patch = diff(RICH, write(RICH, **changes), agent_id="inference")
    assert patch.summary() == f"[inference] Changes: {told}"
    assert evolve(patch, agent_id="").summary() == f"Changes: {told}"


REFUSALS: list[tuple[dict[str, Any], str, Any, Any]] = [
    ({"reasoning__summary": "other"}, "$.reasoning.summary", "short", "other"),
    ({"enrichment__facts": FACTS[1:]}, "$.enrichment.facts", FACTS[5:], ()),
    (
        {"reasoning__confidence_scores": {}},
        "$.reasoning.confidence_scores",
        RICH.reasoning.confidence_scores,
        {},
    ),
    ({"reasoning__dependency_map": None}, "$.reasoning.dependency_map", {"h1": ("h0",)}, None),
]


@pytest.mark.parametrize(("elsewhere", "path", "expected", "found"), REFUSALS)
def test_a_patch_refuses_another_origin(
    elsewhere: dict[str, Any], path: str, expected: Any, found: Any
) -> None:
    """Applying a patch to another origin is refused with the path and both values."""
    target = write(
        RICH,
        reasoning__summary="long",
        reasoning__dependency_map=[],
        reasoning__confidence_scores={"c1": 0.75},
        enrichment__facts=FACTS[:5],
        llm__usage={"total_tokens": 11},
    )
    other = write(RICH, **elsewhere)
    with pytest.raises(InvalidDataError) as caught:
        diff(RICH, target).apply(other)
    assert (caught.value.path, caught.value.what) == (
        path,
        f"the patch expects {expected!r:.80}, found {found!r:.80}",
    )


def test_a_patch_has_only_the_parts_of_a_value_that_changed() -> None:
    """It has the new items of a list and the entries of a map, so it applies beside other ones."""
    scores = {"c1": 0.5, "c2": 0.25}
    changed = write(
        RICH, enrichment__facts=(*FACTS, Fact("f6")), reasoning__confidence_scores=scores
    )
    patch = diff(RICH, changed)
    by_path = {change.path: (change.old, change.new, change.start) for change in patch.changes}
    assert by_path == {
        "reasoning.confidence_scores": ({}, {"c2": 0.25}, 0),
        "enrichment.facts": ((), (Fact("f6"),), 6),
    }
    beside = write(
        RICH,
        enrichment__facts=(*FACTS, Fact("f7")),
        reasoning__confidence_scores={**scores, "c2": 1.0, "c3": 1.0},
    )
    with pytest.raises(InvalidDataError, match=r"confidence_scores.*found \{'c2': 1.0\}"):
        patch.apply(beside)
    beside = write(beside, reasoning__confidence_scores={"c1": 0.5, "c3": 1.0})
    both = patch.apply(beside)
    assert [fact.id for fact in both.enrichment.facts[5:]] == ["f5", "f6", "f7"]
    assert both.reasoning.confidence_scores == {**scores, "c3": 1.0}
    assert patch.invert().apply(both) == beside


CHANGES: list[tuple[Any, type[Exception], str]] = [
    ({"reasoning": []}, InvalidDataError, r"\$\.changes\.reasoning: tuple is not an object"),
    ({"reasoning": {"summary": {"old": "x"}}}, InvalidDataError, r"\.summary: has old. Use old"),
    (
        {"reasoning": {"summary": {"old": 1, "new": ""}}},
        InvalidDataError,
        r"\.summary\.old: int is not text",
    ),
    (
        {"reasoning": {"confidence_scores": {"old": {}, "new": {"c": 2.0}}}},
        InvalidDataError,
        r"\.confidence_scores\.new\.c: 2\.0 is out of range",
    ),
    (
        {"reasoning": {"intents": {"old": [], "new": [], "start": -1}}},
        InvalidDataError,
        r"\.intents\.start: -1 is out of range",
    ),
    ({"reasoning": {"mood": {"old": 1, "new": 2}}}, UnknownNameError, "reasoning.mood"),
]


@pytest.mark.parametrize(("changes", "error", "problem"), CHANGES)
def test_changes_of_another_form_are_refused(
    changes: Any, error: type[Exception], problem: str
) -> None:
    """Reading a record is strict: the error names the key."""
    with pytest.raises(error, match=problem):
        ContextPatch.of(ContextDiff(changes=changes))


def test_the_tracker_captures_one_change_after_the_other() -> None:
    """Each capture starts where the last one ended, and leaves the trail out."""
    tracker = DiffTracker(START)
    first = write(START, reasoning__intents=[Intent("query", 0.95)])
    captured = tracker.capture("intent_detection", first, timestamp=WHEN)
    assert captured.summary() == "[intent_detection] Changes: reasoning.intents_added=1"
    assert (captured.agent_id, captured.timestamp) == ("intent_detection", WHEN)
    second = evolve(
        write(first, reasoning__summary="done"),
        audit=evolve(first.audit, diffs=(captured.record(),)),
    )
    assert tracker.capture("summarization", second, timestamp=WHEN).keys == ("reasoning.summary",)
    assert (
        tracker.capture("summarization", second, timestamp=WHEN).summary()
        == "[summarization] Changes: none"
    )
