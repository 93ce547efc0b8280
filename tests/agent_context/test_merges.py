"""A merge keeps the changes of one side and refuses conflicting changes of both."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import (
    AgentContext,
    Fact,
    MergeConflictError,
    deserialize,
    diff,
    merge,
    replay,
)
from polycontext.agent_context.kinds import Shape
from polycontext.agent_context.records import AgentRun, AuditContext
from polycontext.agent_context.schema import KeySchema
from tests.agent_context.changes import BASES, FACTS, KEYS, RICH, START, chains, write, written
from tests.agent_context.test_context_patch import WHEN, same


@given(chains(2))
def test_merging_with_no_change_is_the_other_change(pair: list[AgentContext]) -> None:
    """``merge(a, b, a) == b == merge(a, a, b)``, and both making the same change is that change."""
    a, b = pair
    assert same(merge(a, b, a), b)
    assert same(evolve(merge(a, a, b), audit=b.audit), b)
    assert same(evolve(merge(a, b, b), audit=b.audit), b)


@st.composite
def forks(draw: st.DrawFn) -> tuple[AgentContext, AgentContext, AgentContext]:
    """Return a context and two that come from it by writing different keys."""
    keys: list[KeySchema] = draw(st.permutations(KEYS))
    cut = draw(st.integers(1, len(keys) - 1))
    base = draw(BASES)
    return base, draw(written(base, keys[:cut])), draw(written(base, keys[cut:]))


@given(forks())
def test_different_keys_merge_to_both_changes_in_either_order(
    fork: tuple[AgentContext, AgentContext, AgentContext],
) -> None:
    """Merging is applying both patches, the one first or the other."""
    base, ours, theirs = fork
    merged = merge(base, ours, theirs)
    assert same(merged, diff(base, theirs).apply(ours))
    assert same(merged, diff(base, ours).apply(theirs))
    assert same(merged, merge(base, theirs, ours))


@st.composite
def free_forks(draw: st.DrawFn) -> tuple[AgentContext, AgentContext, AgentContext]:
    """Return a context and two that come from it by writing any keys."""
    base = draw(BASES)
    return base, draw(written(base)), draw(written(base))


@given(free_forks())
def test_nothing_is_lost_in_silence(fork: tuple[AgentContext, AgentContext, AgentContext]) -> None:
    """A merge either contains every item that a side added, or is refused."""
    base, ours, theirs = fork
    try:
        merged = merge(base, ours, theirs)
    except MergeConflictError as error:
        assert error.path.startswith("$.")
        with pytest.raises(MergeConflictError):
            merge(base, theirs, ours)
        return
    for key in [key for key in KEYS if key.shape is Shape.ARRAY]:
        held, own, other, result = (
            getattr(getattr(side, key.namespace), key.key) for side in (base, ours, theirs, merged)
        )
        for added in [item for side in (own, other) for item in side if item not in held]:
            assert added in result


FACT = Fact("f9", "theirs")
MERGES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    # appended by both: ours first
    (
        {"enrichment__facts": (*FACTS, Fact("f7"))},
        {"enrichment__facts": (*FACTS, Fact("f8"), FACT)},
        {"enrichment__facts": (*FACTS, Fact("f7"), Fact("f8"), FACT)},
    ),
    # one changes, one removes another, one appends
    (
        {"enrichment__facts": (Fact("f0", "new"), *FACTS[1:])},
        {"enrichment__facts": (FACTS[0], *FACTS[2:], FACT)},
        {"enrichment__facts": (Fact("f0", "new"), *FACTS[2:], FACT)},
    ),
    # the same new fact is one fact
    (
        {"enrichment__facts": (*FACTS, FACT)},
        {"enrichment__facts": (*FACTS, Fact("f8"), FACT)},
        {"enrichment__facts": (*FACTS, FACT, Fact("f8"))},
    ),
    # both removed one and put another there, one of them moved a third
    (
        {"enrichment__facts": (FACTS[0], Fact("f7"), *FACTS[2:])},
        {"enrichment__facts": (FACTS[0], Fact("f8"), *FACTS[3:], FACTS[2])},
        {"enrichment__facts": (FACTS[0], Fact("f7"), Fact("f8"), *FACTS[3:], FACTS[2])},
    ),
    # items without ids go by place, and may stand twice
    (
        {"enrichment__context_links": ["a", "c", "new"]},
        {"enrichment__context_links": ["z", "a", "b", "c", "new"]},
        {"enrichment__context_links": ["z", "a", "c", "new", "new"]},
    ),
    # both replaced one item by the same
    (
        {"enrichment__context_links": ["a", "x", "c"]},
        {"enrichment__context_links": ["a", "x", "c", "d"]},
        {"enrichment__context_links": ["a", "x", "c", "d"]},
    ),
    # both removed, one of them more
    (
        {"enrichment__context_links": ["a"]},
        {"enrichment__context_links": ["b"]},
        {"enrichment__context_links": []},
    ),
    # entries of a map
    (
        {"reasoning__entities": {"person": {"name": "Ada"}, "place": "there"}},
        {"reasoning__entities": {"place": "here", "time": "now"}},
        {"reasoning__entities": {"place": "there", "time": "now"}},
    ),
    # fields of a record, entries of a map in it
    (
        {
            "diagnostics__performance": {
                "total_duration_ms": 6,
                "agent_metrics": {"inference": {"duration_ms": 5}},
            }
        },
        {
            "diagnostics__performance": {
                "total_duration_ms": 5,
                "agent_metrics": {"inference": {"duration_ms": 5}, "validation": {}},
            }
        },
        {
            "diagnostics__performance": {
                "total_duration_ms": 6,
                "agent_metrics": {"inference": {"duration_ms": 5}, "validation": {}},
            }
        },
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "both"), MERGES)
def test_changes_that_do_not_touch_merge(
    ours: dict[str, Any], theirs: dict[str, Any], both: dict[str, Any]
) -> None:
    """Arrays of records merge by id, others by position, maps by key; all additions are kept."""
    assert merge(RICH, write(RICH, **ours), write(RICH, **theirs)) == write(RICH, **both)


CONFLICTS: list[tuple[dict[str, Any], dict[str, Any], str, tuple[Any, Any, Any]]] = [
    (
        {"reasoning__summary": "one"},
        {"reasoning__summary": "two"},
        "$.reasoning.summary",
        ("short", "one", "two"),
    ),
    (
        {"reasoning__confidence_scores": {"c1": 0.6}},
        {"reasoning__confidence_scores": {}},
        "$.reasoning.confidence_scores.c1",
        (0.5, 0.6, None),
    ),
    (
        {"reasoning__entities": {"a b": 1}},
        {"reasoning__entities": {"a b": True}},
        "$.reasoning.entities['a b']",
        (None, 1, True),
    ),
    (
        {"llm__usage": None},
        {"llm__usage": {"total_tokens": 11}},
        "$.llm.usage",
        ({"total_tokens": 10}, None, {"total_tokens": 11}),
    ),
    (
        {"enrichment__facts": (Fact("f0", "one"), *FACTS[1:])},
        {"enrichment__facts": (Fact("f0", "two"), *FACTS[1:])},
        "$.enrichment.facts['f0']",
        (FACTS[0], Fact("f0", "one"), Fact("f0", "two")),
    ),
    (
        {"enrichment__facts": FACTS[1:]},
        {"enrichment__facts": (Fact("f0", "two"), *FACTS[1:])},
        "$.enrichment.facts['f0']",
        (FACTS[0], None, Fact("f0", "two")),
    ),
    (
        {"enrichment__facts": (*FACTS, Fact("f7", "one"))},
        {"enrichment__facts": (*FACTS, Fact("f7", "two"))},
        "$.enrichment.facts['f7']",
        (None, Fact("f7", "one"), Fact("f7", "two")),
    ),
    (
        {"enrichment__facts": (*FACTS[1:], FACTS[0])},
        {"enrichment__facts": FACTS[1:]},
        "$.enrichment.facts['f0']",
        (FACTS[0], FACTS[0], None),
    ),
    (
        {"enrichment__context_links": ["a", "one", "c"]},
        {"enrichment__context_links": ["a", "two", "c"]},
        "$.enrichment.context_links[1]",
        ("b", ("one",), ("two",)),
    ),
    (
        {"enrichment__facts": (*FACTS, FACT)},
        {"enrichment__facts": (FACT, *FACTS)},
        "$.enrichment.facts",
        (FACTS, (*FACTS, FACT), (FACT, *FACTS)),
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "path", "values"), CONFLICTS)
def test_one_thing_changed_differently_is_a_conflict(
    ours: dict[str, Any], theirs: dict[str, Any], path: str, values: tuple[Any, Any, Any]
) -> None:
    """The refusal names the path and all three values."""
    with pytest.raises(MergeConflictError) as caught:
        merge(RICH, write(RICH, **ours), write(RICH, **theirs))
    error = caught.value
    if path == "$.llm.usage":
        assert (error.base.total_tokens, error.ours, error.theirs.total_tokens) == (10, None, 11)
    else:
        assert (error.base, error.ours, error.theirs) == values
    assert error.path == path
    assert str(error).startswith(f"{path}: changed from ")


def test_unknown_fields_merge_by_key() -> None:
    """Unknown fields merge like the keys of a map."""
    base, ours, theirs, both = (
        deserialize(f'{{"reasoning": {{{fields}}}}}', lenient=True)
        for fields in (
            '"a": 1, "b": 2',
            '"a": 1, "b": 2, "c": 3',
            '"a": 4, "b": 2',
            '"a": 4, "b": 2, "c": 3',
        )
    )
    assert merge(base, ours, theirs) == both
    with pytest.raises(MergeConflictError, match=r"\$\.reasoning\.a"):
        merge(base, theirs, deserialize('{"reasoning": {"a": 5}}', lenient=True))


def recorded(base: AgentContext, agent: str, **changes: Any) -> AgentContext:
    """Return the context after an agent's write of `changes`, with its run and diff."""
    after = write(base, **changes)
    patch = diff(base, after, agent_id=agent, timestamp=WHEN)
    run = AgentRun(WHEN, agent, "success", 1, patch.keys)
    return evolve(
        after,
        audit=AuditContext((*base.audit.agent_runs, run), (*base.audit.diffs, patch.record())),
    )


def test_a_merged_trail_leads_to_the_merged_context() -> None:
    """A merged trail keeps the runs of both sides, and its diffs replay to the merged context."""
    base = recorded(START, "orchestrator", enrichment__facts=FACTS)
    ours = recorded(base, "inference", enrichment__facts=(*FACTS, Fact("f7")))
    theirs = recorded(
        recorded(base, "context_synthesizer", enrichment__facts=(*FACTS, Fact("f8"))),
        "validation",
        reasoning__summary="fine",
    )
    merged = merge(base, ours, theirs)
    assert [fact.id for fact in merged.enrichment.facts[-2:]] == ["f7", "f8"]
    assert [run.agent_id for run in merged.audit.agent_runs] == [
        "orchestrator",
        "inference",
        "context_synthesizer",
        "validation",
    ]
    assert [record.agent_id for record in merged.audit.diffs] == [
        "orchestrator",
        "inference",
        "context_synthesizer, validation",
    ]
    assert evolve(replay(START, merged.audit.diffs), audit=merged.audit) == merged


def test_a_trail_that_adds_nothing_is_not_prolonged() -> None:
    """If the other side changed nothing new, the merged trail gains its runs but no diff."""
    ours = recorded(START, "inference", reasoning__summary="same")
    theirs = recorded(START, "summarization", reasoning__summary="same")
    merged = merge(START, ours, theirs)
    assert merged.audit.diffs == ours.audit.diffs
    assert [run.agent_id for run in merged.audit.agent_runs] == ["inference", "summarization"]
