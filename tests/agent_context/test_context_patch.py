"""The laws of patches between contexts, and their summaries and JSON forms."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import jsonpatch
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import (
    AgentContext,
    ContextPatch,
    DiffTracker,
    Fact,
    Intent,
    deserialize,
    diff,
    serialize,
)
from polycontext.agent_context.json_text import canonical
from polycontext.agent_context.records import ContextDiff
from polycontext.base import InvalidDataError
from polycontext.linearity import UNIX_EPOCH
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


@given(chains(2))
def test_different_contexts_differ(pair: list[AgentContext]) -> None:
    """A patch is empty exactly if both are the same, and then it tells of no keys."""
    patch = diff(*pair)
    assert bool(patch) is not same(*pair)
    assert bool(patch) is bool(patch.keys)


@given(chains(3))
def test_patches_join(three: list[AgentContext]) -> None:
    """``diff(a, b).then(diff(b, c))`` leads from `a` to `c` and back, or is empty if equal."""
    a, b, c = three
    joint = diff(a, b).then(diff(b, c))
    assert same(joint.apply(a), c)
    assert same(joint.invert().apply(c), a)
    assert diff(a, b).then(diff(b, a)).keys == ()


@given(chains(4), st.lists(NAMES, min_size=3, max_size=3))
def test_joining_is_associative(four: list[AgentContext], names: list[str]) -> None:
    """Joining patches is associative, including their agents and timestamps."""
    p, q, r = (
        diff(*pair, agent_id=name, timestamp=WHEN)
        for pair, name in zip(pairwise(four), names, strict=True)
    )
    left, right = p.then(q).then(r), p.then(q.then(r))
    assert same(left.apply(four[0]), right.apply(four[0]))
    assert same(left.invert().apply(four[3]), right.invert().apply(four[3]))
    assert (left.agent_id, left.timestamp, left.keys) == (
        right.agent_id,
        right.timestamp,
        right.keys,
    )


@given(chains(2))
def test_an_empty_patch_changes_nothing(pair: list[AgentContext]) -> None:
    """The empty patch is the unit of joining, on both sides."""
    patch = diff(*pair, agent_id="inference", timestamp=WHEN)
    assert ContextPatch().then(patch) == patch == patch.then(ContextPatch())
    assert ContextPatch().apply(pair[0]) is not None
    assert same(ContextPatch().apply(pair[0]), pair[0])


@given(chains(2))
def test_a_patch_is_a_json_patch_of_the_document(pair: list[AgentContext]) -> None:
    """The JSON Patch, with and without tests, turns one serialised context into the other."""
    a, b = (json.loads(serialize(context)) for context in pair)
    for tests in (False, True):
        patch = json.loads(json.dumps(diff(*pair).to_json_patch(tests=tests)))
        assert jsonpatch.apply_patch(a, patch) == b


def test_a_json_patch_with_tests_fails_on_another_document() -> None:
    """Tests come before whatever is removed or replaced, so that a foreign document is refused."""
    patch = diff(RICH, write(RICH, reasoning__summary="long")).to_json_patch(tests=True)
    assert patch == [
        {"op": "test", "path": "/reasoning/summary", "value": "short"},
        {"op": "replace", "path": "/reasoning/summary", "value": "long"},
    ]
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(json.loads(serialize(write(RICH, reasoning__summary="other"))), patch)


def test_a_json_patch_escapes_names() -> None:
    """A key with a slash or a tilde is written as RFC 6901 says."""
    (operation,) = diff(
        RICH, write(RICH, reasoning__confidence_scores={"c1": 0.5, "a/b~c": 1.0})
    ).to_json_patch()
    assert operation == {"op": "add", "path": "/reasoning/confidence_scores/a~1b~0c", "value": 1.0}


@given(chains(2), NAMES)
def test_a_patch_comes_back_from_json(pair: list[AgentContext], name: str) -> None:
    """A patch survives ``to_dict``, JSON text and its audit record."""
    patch = diff(*pair, agent_id=name, timestamp=WHEN)
    again = ContextPatch.from_dict(json.loads(json.dumps(patch.to_dict())))
    assert again == patch
    assert same(again.apply(pair[0]), pair[1])
    data = patch.without_trail()
    assert ContextPatch.of(data.record()) == data
    assert ContextDiff.from_json(json.loads(json.dumps(data.to_dict()))) == data.record()


def test_what_only_later_releases_know_is_compared_too() -> None:
    """Unknown fields kept by the lenient decoder are part of a patch and of its JSON forms."""
    a = deserialize(
        '{"mood": 1, "reasoning": {"tone": "dry", "intents": [{"type": "query", "weight": 2}]}}',
        lenient=True,
    )
    b = deserialize('{"mood": true, "reasoning": {"pace": [1], "intents": []}}', lenient=True)
    patch = diff(a, b)
    assert patch.keys == ("reasoning.intents", "reasoning.tone", "reasoning.pace", "mood")
    assert same(patch.apply(a), b)
    assert same(patch.invert().apply(b), a)
    assert jsonpatch.apply_patch(json.loads(serialize(a)), patch.to_json_patch()) == json.loads(
        serialize(b)
    )
    assert (
        ContextPatch.of(patch.record())
        == patch
        == ContextPatch.from_dict(patch.to_dict(), lenient=True)
    )
    with pytest.raises(
        InvalidDataError,
        match=r"\$\.changes\.reasoning\.intents\.items\[0\]\.removed\[0\]\.weight: unknown field",
    ):
        ContextPatch.from_dict(patch.to_dict())


SUMMARIES: list[tuple[dict[str, Any], str]] = [
    ({}, "none"),
    (
        {"reasoning__intents": [Intent("query", 0.9), Intent("more", 0.5)]},
        "reasoning.intents_added=1",
    ),
    ({"enrichment__facts": FACTS[2:]}, "enrichment.facts_removed=2"),
    (
        {"enrichment__facts": (*FACTS[:2], Fact("f2", "else"), *FACTS[3:5])},
        "enrichment.facts_removed=1, enrichment.facts_changed=1",
    ),
    ({"enrichment__facts": (Fact("new"), *FACTS, Fact("last"))}, "enrichment.facts_added=2"),
    (
        {"reasoning__entities": {"person": "Eve", "thing": 1}},
        "reasoning.entities_added=1, reasoning.entities_removed=1, reasoning.entities_changed=1",
    ),
    (
        {"llm__model": "small", "reasoning__summary": ""},
        "reasoning.summary_changed=1, llm.model_changed=1",
    ),
    ({"llm__usage": {"total_tokens": 11}}, "llm.usage_changed=1"),
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


def test_joined_changes_are_told_in_the_order_of_the_document() -> None:
    """Joining a later key to an earlier one does not change the order of the summary."""
    middle = write(RICH, llm__model="small")
    joint = diff(RICH, middle).then(diff(middle, write(middle, reasoning__summary="long")))
    assert joint.keys == ("reasoning.summary", "llm.model")


REFUSALS: list[tuple[dict[str, Any], str, Any, Any]] = [
    ({"reasoning__summary": "other"}, "$.reasoning.summary", "short", "other"),
    ({"enrichment__facts": FACTS[1:]}, "$.enrichment.facts", "6 items", "5 items"),
    (
        {"enrichment__facts": (*FACTS[:5], Fact("f9"))},
        "$.enrichment.facts[5]",
        FACTS[5],
        Fact("f9"),
    ),
    (
        {"reasoning__confidence_scores": {}},
        "$.reasoning.confidence_scores",
        "1 entries",
        "0 entries",
    ),
    ({"reasoning__confidence_scores": {"c2": 0.5}}, "$.reasoning.confidence_scores.c1", 0.5, None),
    ({"llm__usage": None}, "$.llm.usage", "an object", None),
    ({"reasoning__dependency_map": None}, "$.reasoning.dependency_map", {"h1": ("h0",)}, None),
]


def shown(value: Any) -> str:
    """Return a value as a refusal shows it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


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
        f"the patch expects {shown(expected)}, found {shown(found)}",
    )
    with pytest.raises(InvalidDataError) as caught:
        diff(target, other).then(diff(RICH, target))
    assert caught.value.path == path


def test_items_that_meet_are_checked() -> None:
    """A patch that removes an item is not joined to one that put another one there."""
    other = write(RICH, enrichment__context_links=["a", "b", "c", "d"])
    wrong = diff(write(RICH, enrichment__context_links=["a", "b", "c", "x"]), RICH)
    with pytest.raises(
        InvalidDataError,
        match=r"\$\.enrichment\.context_links\[3\]: the patch expects 'x', found 'd'",
    ):
        diff(RICH, other).then(wrong)


def test_a_map_that_has_grown_is_another_map() -> None:
    """Entries are joined only where their number fits."""
    more = write(RICH, reasoning__confidence_scores={"c1": 0.5, "c2": 0.5})
    with pytest.raises(InvalidDataError, match="expects '1 entries', found '2 entries'"):
        diff(RICH, more).then(diff(RICH, write(RICH, reasoning__confidence_scores={"c1": 0.75})))


def test_a_long_value_is_shortened_in_the_message() -> None:
    """A refusal shows the beginning of long values."""
    long = write(RICH, reasoning__summary="x" * 1000)
    with pytest.raises(InvalidDataError) as caught:
        diff(long, RICH).apply(RICH)
    assert caught.value.what.startswith("the patch expects 'xxx")
    assert len(str(caught.value)) < 300


def test_a_patch_applies_where_only_other_keys_differ() -> None:
    """A patch ignores the keys that it does not change."""
    patch = diff(RICH, write(RICH, reasoning__summary="long"))
    assert patch.apply(write(RICH, llm__model="small")) == write(
        RICH, llm__model="small", reasoning__summary="long"
    )


def test_a_patch_shares_what_did_not_change() -> None:
    """Namespaces and items beside the change are the very objects of the origin."""
    patched = diff(RICH, write(RICH, enrichment__facts=(*FACTS, Fact("f6")))).apply(RICH)
    assert patched.reasoning is RICH.reasoning
    assert all(map(lambda new, old: new is old, patched.enrichment.facts, FACTS))


CHANGES: list[tuple[Any, str]] = [
    ([], r"\$\.changes: list is not an object"),
    ({"reasoning": []}, r"\$\.changes\.reasoning: list is not an object"),
    ({"reasoning": {"summary": 1}}, r"\.summary: int is not a change"),
    ({"reasoning": {"summary": {"old": "x"}}}, r"\.summary: no change: old. Use old and new"),
    ({"reasoning": {"summary": {}}}, r"\.summary: no change: empty"),
    ({"reasoning": {"summary": {"old": 1, "new": ""}}}, r"\.summary\.old: int is not text"),
    (
        {"reasoning": {"confidence_scores": {"size": 0, "entries": {"c": {"new": 2.0}}}}},
        r"\.entries\.c\.new: 2\.0 is out of range|c\.new: 2",
    ),
    (
        {"reasoning": {"confidence_scores": {"size": -1, "entries": {}}}},
        r"\.confidence_scores\.size: -1 is not a position",
    ),
    ({"reasoning": {"intents": {"items": []}}}, r"\.intents: has items. Use length, items"),
    (
        {"reasoning": {"intents": {"length": True, "items": []}}},
        r"\.intents\.length: True is not a position",
    ),
    (
        {"reasoning": {"intents": {"length": 1, "items": {}}}},
        r"\.intents\.items: dict is not an array",
    ),
    (
        {"reasoning": {"intents": {"length": 1, "items": [1]}}},
        r"\.items\[0\]: int is not an object",
    ),
    (
        {
            "reasoning": {
                "intents": {"length": 1, "items": [{"at": 1, "removed": [{}], "added": []}]}
            }
        },
        r"\.items: overlap or exceed the length",
    ),
    (
        {
            "reasoning": {
                "intents": {"length": 1, "items": [{"at": 0, "removed": [], "added": [3]}]}
            }
        },
        r"items\[0\]\.added\[0\]: int is not",
    ),
    ({"llm": {"usage": {"fields": {"cost_usd": {"old": 1.0}}}}}, r"cost_usd: no change: old"),
    ({"version": {"new": "1.0.0"}}, r"\.version: no change: new"),
]


@pytest.mark.parametrize(("changes", "problem"), CHANGES)
def test_changes_of_another_form_are_refused(changes: Any, problem: str) -> None:
    """Reading is strict: the error names the path below `changes`."""
    with pytest.raises(InvalidDataError, match=problem) as caught:
        ContextPatch.from_dict({"timestamp": UNIX_EPOCH, "agent_id": "", "changes": changes})
    assert caught.value.path.startswith("$.changes")


def test_a_patch_has_three_parts() -> None:
    """A patch needs exactly a timestamp, an agent_id and changes, each of its type."""
    wrong: list[Any] = [[], {}, {"timestamp": UNIX_EPOCH, "agent_id": "", "changes": {}, "more": 1}]
    for data in wrong:
        with pytest.raises(InvalidDataError, match="is not a patch"):
            ContextPatch.from_dict(data)
    with pytest.raises(InvalidDataError, match="naive"):
        diff(START, RICH, timestamp=datetime(2026, 1, 1))  # noqa: DTZ001


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


def test_the_deepest_value_can_be_recorded() -> None:
    """JSON data of the greatest legal depth fits into a diff record and survives a round trip."""
    deep: Any = "bottom"
    for _ in range(100):
        deep = [deep]
    context = write(RICH, retrieval__queries=[{"id": "q1", "results": deep}])
    record = diff(RICH, context).record()
    document = evolve(context, audit=evolve(context.audit, diffs=(record,)))
    assert ContextPatch.of(deserialize(serialize(document)).audit.diffs[0]).apply(RICH) == context


def test_changes_that_change_nothing_do_nothing() -> None:
    """A spelled-out change that changes nothing can be applied, and its JSON Patch is empty."""
    changes = {
        "reasoning": {
            "hypotheses": {"length": 0, "items": []},
            "confidence_scores": {"size": 1, "entries": {}},
        },
        "llm": {"cache": {"size": 0, "entries": {}}, "usage": {"fields": {}}},
    }
    patch = ContextPatch.from_dict({"timestamp": UNIX_EPOCH, "agent_id": "", "changes": changes})
    assert patch.apply(RICH) == RICH
    assert patch.to_json_patch(tests=True) == []


def test_a_record_of_changes_holds_an_object() -> None:
    """The changes of an audit record are an object, whatever is in it."""
    with pytest.raises(InvalidDataError, match="changes: list is not an object"):
        ContextDiff(changes=[])  # type: ignore[arg-type]


def test_without_a_timestamp_the_clock_is_asked() -> None:
    """A tracker stamps what it captures with its clock; a time that is given goes first."""
    tracker, later = DiffTracker(START, clock=lambda: WHEN), WHEN + timedelta(hours=1)
    assert tracker.capture("inference", START).timestamp == WHEN
    assert tracker.capture("inference", START, timestamp=later).timestamp == later


@pytest.mark.parametrize(
    ("field", "value"),
    [("agent_id", 3), ("agent_id", "\ud800"), ("timestamp", "today"), ("timestamp", None)],
)
def test_a_patch_names_the_field_at_fault(field: str, value: Any) -> None:
    """The agent and timestamp of a patch are validated like the fields of a record."""
    with pytest.raises(InvalidDataError) as caught:
        ContextPatch.from_dict({**diff(START, START).to_dict(), field: value})
    assert caught.value.path == field
