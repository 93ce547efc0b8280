"""The trail is bounded by bytes, and a full trail never prevents legal writes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import (
    AgentContext,
    AgentContextStore,
    Artifact,
    AuditPolicy,
    ContextLimits,
    ContextSizeChecker,
    ContextSizeError,
    ContextViolationError,
    deserialize,
    origin,
    serialize,
)
from polycontext.agent_context.json_text import dumps
from polycontext.agent_context.record_base import with_changes
from polycontext.agent_context.records import AuditContext, ContextDiff, PerformanceData
from polycontext.base import (
    InvalidDataError,
    InvalidOptionError,
    PolycontextError,
    UnknownNameError,
)
from tests.agent_context.changes import START, write

WHEN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def opened(context: AgentContext = START, **settings: Any) -> AgentContextStore:
    """Return a store with a clock of its own."""
    moments: Iterator[datetime] = (
        WHEN + timedelta(milliseconds=20) * number for number in range(1_000_000)
    )
    return AgentContextStore(context, clock=lambda: next(moments), **settings)


def audit_bytes(store: AgentContextStore) -> int:
    """Return the bytes of the trail."""
    return len(dumps(store.context.audit))


FLOODS: dict[str, tuple[Any, dict[str, Any], type[PolycontextError]]] = {
    "agents with long names": (
        lambda number: f"{number}" + "x" * 5_000,
        {"llm.model": "m"},
        ContextViolationError,
    ),
    "long names in another script": (
        lambda number: f"{number}" + "港" * 5_000,
        {"llm.model": "m"},
        ContextViolationError,
    ),
    "quotes, which double in JSON": (
        lambda number: f"{number}" + '"\\' * 2_500,
        {"llm.model": "m"},
        ContextViolationError,
    ),
    "keys with long names": (lambda _: "validation", {"llm." + "k" * 5_000: 1}, UnknownNameError),
    "values with long faults": (
        lambda _: "inference",
        {"llm.cache": {"\x01" * 5_000: {1, 2}}},
        InvalidDataError,
    ),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_of_refused_writes_is_harmless(kind: str) -> None:
    """A flood of refused writes displaces no successful run or diff and blocks no write."""
    name, changes, error = FLOODS[kind]
    store = opened()
    for number in range(20):
        store.write("summarization", {"reasoning.summary": f"before {number}"})
    before = store.context
    for number in range(150):
        with pytest.raises(error):
            store.write(name(number), changes)
    assert evolve(store.context, audit=before.audit) == before
    assert store.context.audit.diffs == before.audit.diffs
    assert [run for run in store.context.audit.agent_runs if run.status == "success"] == list(
        before.audit.agent_runs
    )
    failed = [run for run in store.context.audit.agent_runs if run.status == "failed"]
    assert 1 <= len(failed) <= 100
    assert all(len(run.agent_id) <= 200 and len(run.error) <= 500 for run in failed)
    assert audit_bytes(store) < 256 * 1024
    store.write("summarization", {"reasoning.summary": "after"})
    store.append("validation", {"diagnostics.errors": [{"message": "seen"}]})
    assert (store.context.reasoning.summary, len(store.context.diagnostics.errors)) == ("after", 1)
    assert store.replay() == store.context
    assert AgentContextStore(deserialize(serialize(store.context))).context == store.context


def test_a_flood_takes_no_room_that_a_write_needs() -> None:
    """In a nearly full context, records of refusals make room for a write that would fit."""
    size = len(serialize(START))
    store = opened(checker=ContextSizeChecker(ContextLimits(max_total_size=size + 4_000)))
    for number in range(3):
        store.write("summarization", {"reasoning.summary": f"before {number}"})
    diffs = store.context.audit.diffs
    for number in range(50):
        with pytest.raises(ContextViolationError):
            store.write(f"stranger {number}", {"llm.model": "m"})
    assert store.context.audit.diffs == diffs
    assert sum(run.status == "success" for run in store.context.audit.agent_runs) == 3
    kept = len(store.context.audit.agent_runs)
    store.write("summarization", {"reasoning.summary": "x" * 1_200})
    assert store.context.reasoning.summary == "x" * 1_200
    assert sum(run.status == "failed" for run in store.context.audit.agent_runs) < kept


def test_failures_and_successes_have_rings_of_their_own() -> None:
    """Each ring keeps its newest; both are told in the order in which they ended."""
    store = opened(policy=AuditPolicy(keep_runs=2, keep_failed=3))
    for number in range(5):
        store.write("summarization", {"reasoning.summary": f"{number}"})
        with pytest.raises(ContextViolationError):
            store.write(f"stranger {number}", {"llm.model": "m"})
    told = [run.agent_id for run in store.context.audit.agent_runs]
    assert told == ["stranger 2", "summarization", "stranger 3", "summarization", "stranger 4"]
    quiet = opened(policy=AuditPolicy(keep_failed=0))
    with pytest.raises(ContextViolationError):
        quiet.write("stranger", {"llm.model": "m"})
    assert quiet.context.audit == AuditContext()


def test_the_bytes_of_the_trail_are_bounded() -> None:
    """The trail stays within its byte limit by starting later, and still replays."""
    store = opened(policy=AuditPolicy(max_bytes=20_000))
    beginning = origin(store.context)
    most = 0
    for number in range(60):
        store.append(
            "retrieval_planner",
            {"retrieval.plans": [{"id": f"p{number}", "description": f"{number}" * 500}]},
        )
        store.write(
            "inference",
            {
                "reasoning.conclusions": [
                    {"id": f"c{number}-{n}", "content": f"{n}" * 300} for n in range(9)
                ]
            },
        )
        most = max(most, audit_bytes(store))
        assert store.replay() == store.context
    assert most <= 20_000 + 1_000
    assert origin(store.context).retrieval.plans != beginning.retrieval.plans
    assert AgentContextStore(deserialize(serialize(store.context))).replay() == store.context


def test_a_write_that_is_larger_than_the_trail_is_on_record_alone() -> None:
    """The newest diff is kept even if it exceeds the share of the trail."""
    store = opened(policy=AuditPolicy(max_bytes=4_000))
    store.write("summarization", {"reasoning.summary": "short"})
    store.write("summarization", {"reasoning.summary": "x" * 9_000})
    assert len(store.context.audit.diffs) == 1
    assert origin(store.context).reasoning.summary == "short"
    assert store.replay() == store.context


def test_what_fills_the_trail_hinders_nobody() -> None:
    """A context opened nearly full can be emptied: the trail starts later instead."""
    large = "x" * 900
    begun = write(START, reasoning__summary=large, llm__model=large, metadata__locale=large)
    store = opened(begun, checker=ContextSizeChecker(ContextLimits(max_namespace_size=2_100)))
    for agent, key in (
        ("summarization", "reasoning.summary"),
        ("inference", "llm.model"),
        ("validation", "metadata.locale"),
    ):
        store.write(agent, {key: ""})
    assert (
        store.context.reasoning.summary,
        store.context.llm.model,
        store.context.metadata.locale,
    ) == ("", "", "")
    assert store.replay() == store.context


def test_bytes_are_a_size() -> None:
    """A policy is checked when it is made."""
    for name in ("keep_failed", "max_bytes"):
        with pytest.raises(InvalidOptionError, match=f"{name} = -1. Use a whole number"):
            AuditPolicy(**{name: -1})


def test_a_trail_that_tells_of_performance_is_read() -> None:
    """A diff may contain performance data, which replay ignores."""
    both = {
        "diagnostics": {"performance": {"old": None, "new": {"total_duration_ms": 5}}},
        "llm": {"model": {"old": "", "new": "m"}},
    }
    only = {
        "diagnostics": {
            "performance": {"old": {"total_duration_ms": 5}, "new": {"total_duration_ms": 6}}
        }
    }
    diffs = tuple(ContextDiff(WHEN, "orchestrator", changes) for changes in (both, only))
    kept = with_changes(
        write(START, llm__model="m", diagnostics__performance=PerformanceData(99)),
        audit=AuditContext(diffs=diffs),
    )
    store = opened(kept)
    store.write("inference", {"llm.model": "n"})
    assert store.replay() == store.context
    assert origin(store.context).llm.model == ""


@given(
    st.lists(st.tuples(st.sampled_from(["", "stranger"]), st.integers(0, 3_000)), max_size=12),
    st.integers(500, 20_000),
)
def test_bounded_trails_lead_to_the_present(steps: list[tuple[str, int]], most: int) -> None:
    """Under any bound the trail replays, and only its newest diff and runs may exceed the bound."""
    store = opened(policy=AuditPolicy(max_bytes=most))
    for agent, length in steps:
        try:
            store.write(
                agent or "retrieval_planner",
                {"retrieval.artifacts": [Artifact("a", content="x" * length)]},
            )
        except ContextViolationError:
            assert agent
    newest = sum(len(dumps(record)) for record in store.context.audit.diffs[-1:])
    assert store.replay() == store.context
    assert audit_bytes(store) <= max(most, newest + most // 4) + 1_500
    assert AgentContextStore(deserialize(serialize(store.context))).replay() == store.context


def test_a_run_that_changes_nothing_in_a_full_context_is_recorded_or_refused() -> None:
    """A run whose record does not fit is refused, and the context is unchanged."""
    store = opened(
        checker=ContextSizeChecker(ContextLimits(max_total_size=len(serialize(START)) + 40))
    )
    with pytest.raises(ContextSizeError):
        store.write("summarization", {"reasoning.summary": ""})
    assert store.context == START


def test_a_refusal_makes_no_diff_leave() -> None:
    """A refusal whose record does not fit is not recorded, and no diff is removed for it."""
    begun = opened()
    for number in range(3):
        begun.write("summarization", {"reasoning.summary": f"before {number}"})
    full = ContextSizeChecker(ContextLimits(max_total_size=len(serialize(begun.context)) + 20))
    store = opened(begun.context, checker=full)
    with pytest.raises(ContextViolationError) as caught:
        store.write("stranger", {"llm.model": "m"})
    assert caught.value.__notes__[0].startswith("the failed run is not on record")
    assert store.context == begun.context
