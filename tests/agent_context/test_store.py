"""The store: every write guarded, limited and on record, and the record leads to the present."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import (
    AgentContext,
    AgentContextStore,
    AuditPolicy,
    ContextLimits,
    ContextPatch,
    ContextSizeChecker,
    ContextSizeError,
    ContextValidator,
    ContextViolationError,
    Fact,
    Intent,
    MergeConflictError,
    TrailError,
    deserialize,
    origin,
    replay,
    serialize,
)
from polycontext.agent_context.record_base import with_changes
from polycontext.agent_context.records import AuditContext, ContextDiff
from polycontext.base import (
    InvalidDataError,
    InvalidOptionError,
    PolycontextError,
    UnknownNameError,
)
from tests.agent_context.changes import FACTS, KEYS, RICH, START, write
from tests.agent_context.strategies import of_kind

WHEN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def ticking(step: timedelta = timedelta(milliseconds=20)) -> Callable[[], datetime]:
    """Return a clock that goes on by a step each time it is read."""
    moments: Iterator[datetime] = (WHEN + step * number for number in range(1_000_000))
    return lambda: next(moments)


def opened(context: AgentContext = START, **settings: Any) -> AgentContextStore:
    """Return a store with a clock of its own."""
    return AgentContextStore(context, clock=ticking(), **settings)


def test_a_write_is_recorded_with_what_it_changed() -> None:
    """A run records agent, start, duration and changed keys; its diff records the values."""
    store = opened()
    store.write(
        "intent_detection", {"reasoning.intents": [Intent("query", 0.95)], "reasoning.entities": {}}
    )
    (run,), (record,) = store.context.audit.agent_runs, store.context.audit.diffs
    assert (run.timestamp, run.agent_id, run.status, run.duration_ms, run.error) == (
        WHEN,
        "intent_detection",
        "success",
        20,
        "",
    )
    assert run.keys_written == ("reasoning.intents",)
    assert (
        ContextPatch.of(record).summary() == "[intent_detection] Changes: reasoning.intents_added=1"
    )
    assert record.timestamp == WHEN


def test_a_write_that_changes_nothing_is_a_run_without_a_diff() -> None:
    """Writing what is there already is on record, and changed no key."""
    store = opened()
    store.write("summarization", {"reasoning.summary": ""})
    assert (store.context.audit.agent_runs[0].keys_written, store.context.audit.diffs) == ((), ())


REFUSED: list[tuple[dict[str, Any], type[PolycontextError], str]] = [
    ({"llm.provider": "local"}, ContextViolationError, "may not write llm.provider"),
    ({"reasoning.intents": [{"confidence": 2}]}, InvalidDataError, "2.0 is out of range"),
    ({"reasoning.mood": "dry"}, UnknownNameError, "reasoning.mood"),
    ({"audit.agent_runs": []}, ContextViolationError, "the audit system alone writes the trail"),
    ({"diagnostics.errors": [{}] * 9}, ContextSizeError, "max_array_items"),
]


@pytest.mark.parametrize(("changes", "error", "told"), REFUSED)
def test_a_refused_write_is_recorded_and_changes_nothing_else(
    changes: dict[str, Any], error: type[PolycontextError], told: str
) -> None:
    """A refused write records its error and leaves every other namespace the same object."""
    store = opened(RICH, checker=ContextSizeChecker(ContextLimits(max_array_items=8)))
    with pytest.raises(error, match=told):
        store.write("intent_detection", changes)
    (run,) = store.context.audit.agent_runs
    assert (run.status, run.keys_written, run.duration_ms > 0) == ("failed", (), True)
    assert run.error.startswith(error.__name__)
    assert told in run.error
    assert store.context.audit.diffs == ()
    assert evolve(store.context, audit=RICH.audit) == RICH
    assert store.context.reasoning is RICH.reasoning


def test_a_run_writes_several_times_and_sees_its_own_writes() -> None:
    """Writes of a run are visible only inside it until it ends, and make one run and one diff."""
    store = opened()
    with store.run("inference") as run:
        run.write({"llm.model": "small"})
        run.write({"llm.provider": f"{run.context.llm.model}-server"})
        assert store.context == START
    assert (store.context.llm.model, store.context.llm.provider) == ("small", "small-server")
    assert store.context.audit.agent_runs[0].keys_written == ("llm.provider", "llm.model")
    assert len(store.context.audit.diffs) == 1


def test_there_is_no_way_past_the_guard() -> None:
    """Neither the store's context nor a run's can be set."""
    store = opened()
    with store.run("summarization") as run, pytest.raises(AttributeError):
        run.context = RICH  # type: ignore[misc]
    with pytest.raises(AttributeError):
        store.context = RICH  # type: ignore[misc]
    assert store.context.reasoning == START.reasoning


def test_an_agent_that_fails_leaves_its_error_and_nothing_else() -> None:
    """A failing agent loses its writes; its error is recorded in storable form and re-raised."""
    store = opened()
    with pytest.raises(RuntimeError), store.run("summarization") as run:  # noqa: PT012
        run.write({"reasoning.summary": "half"})
        raise RuntimeError("model \ud800 gone" + "!" * 1000)
    (failed,) = store.context.audit.agent_runs
    assert store.context.reasoning.summary == ""
    assert failed.error.startswith("RuntimeError: model ? gone!!!")
    assert len(failed.error) == 500
    assert deserialize(serialize(store.context)) == store.context


def test_a_run_that_has_ended_takes_no_writes() -> None:
    """A write after the end would reach nobody, and is refused."""
    store = opened()
    with store.run("summarization") as run:
        pass
    with pytest.raises(ContextViolationError, match="its run has ended"):
        run.write({"reasoning.summary": "late"})


def test_runs_at_the_same_time_merge() -> None:
    """Both append to the same array: both facts are there, and the trail of either replays."""
    store = opened(RICH)
    with store.run("context_synthesizer") as one, store.run("inference") as two:
        one.write({"enrichment.facts": (*FACTS, Fact("one"))})
        two.write({"enrichment.facts": (*FACTS, Fact("two")), "llm.model": "small"})
    assert [fact.id for fact in store.context.enrichment.facts[-2:]] == ["two", "one"]
    assert store.replay() == store.context
    assert store.context.audit.agent_runs[1].keys_written == ("enrichment.facts",)


def test_a_conflict_fails_the_later_run() -> None:
    """If two runs write one key, the later one fails with both values and is recorded."""
    store = opened(RICH)
    with (  # noqa: PT012  its end is what fails
        pytest.raises(MergeConflictError) as caught,
        store.run("summarization") as late,
    ):
        late.write({"reasoning.summary": "late"})
        store.write("summarization", {"reasoning.summary": "early"})
    assert (caught.value.base, caught.value.ours, caught.value.theirs) == ("short", "early", "late")
    assert store.context.reasoning.summary == "early"
    assert [run.status for run in store.context.audit.agent_runs] == ["success", "failed"]


def test_threads_that_write_their_own_keys_lose_nothing() -> None:
    """Eight threads that write their own entries and facts lose none of them."""
    store = AgentContextStore(START, policy=AuditPolicy(keep_diffs=10))
    barrier = Barrier(8)
    failures: list[BaseException] = []

    def work(name: str) -> None:
        barrier.wait()
        try:
            for number in range(10):
                with store.run("orchestrator") as run:
                    mine = {**run.context.reasoning.entities, f"{name}-{number}": number}
                    facts = (*run.context.enrichment.facts, Fact(f"{name}-{number}"))
                    run.write({"reasoning.entities": mine, "enrichment.facts": facts})
        except BaseException as error:  # noqa: BLE001  reported after the join
            failures.append(error)

    threads = [Thread(target=work, args=(f"t{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {f"t{thread}-{number}" for thread in range(8) for number in range(10)}
    assert failures == []
    assert (
        set(store.context.reasoning.entities)
        == {fact.id for fact in store.context.enrichment.facts}
        == expected
    )
    assert len(store.context.enrichment.facts) == len(store.context.audit.agent_runs) == 80
    assert len(store.context.audit.diffs) == 11
    assert store.replay() == store.context


STEPS = st.lists(
    st.sampled_from([key for key in KEYS if key.path != "diagnostics.performance"]).flatmap(
        lambda key: st.tuples(st.just(key.path), of_kind(key.kind))
    ),
    max_size=12,
)


def unmeasured(context: AgentContext) -> AgentContext:
    """Return the context without its trail, and without what a store measures."""
    return evolve(
        context,
        audit=AuditContext(),
        diagnostics=with_changes(context.diagnostics, performance=None),
    )


@given(STEPS, st.integers(0, 4))
def test_the_trail_leads_to_the_present(steps: list[tuple[str, Any]], keep: int) -> None:
    """Replaying the diffs gives the current context, however little the policy keeps."""
    store = opened(RICH, policy=AuditPolicy(keep_runs=3, keep_failed=2, keep_diffs=keep))
    refused = 0
    for path, value in steps:
        try:
            store.write("orchestrator", {path: value})
        except InvalidDataError:
            refused += 1
    present = store.context
    assert store.replay() == present
    assert unmeasured(replay(RICH, present.audit.diffs)) == unmeasured(present)
    assert unmeasured(origin(present)) == unmeasured(RICH)
    assert len(present.audit.diffs) <= keep + 1
    assert len(present.audit.agent_runs) == min(len(steps) - refused, 3) + min(refused, 2)
    assert AgentContextStore(deserialize(serialize(present))).replay() == present


def test_older_diffs_become_one() -> None:
    """The newest diffs are kept; older ones are joined, with all agents and the latest time."""
    store = opened(policy=AuditPolicy(keep_diffs=1))
    store.write("inference", {"llm.model": "a"})
    store.write("summarization", {"reasoning.summary": "x"})
    store.write("inference", {"llm.model": "b"})
    store.write("inference", {"llm.provider": "local"})
    rolled, last = map(ContextPatch.of, store.context.audit.diffs)
    assert rolled.agent_id == "inference, summarization"
    assert (
        rolled.summary()
        == "[inference, summarization] Changes: reasoning.summary_changed=1, llm.model_changed=1"
    )
    assert last.keys == ("llm.provider",)
    assert rolled.timestamp == store.context.audit.agent_runs[2].timestamp


def test_a_trail_without_runs_is_legal() -> None:
    """A policy may keep no runs at all."""
    store = opened(policy=AuditPolicy(keep_runs=0, keep_diffs=0))
    store.write("inference", {"llm.model": "a"})
    assert (store.context.audit.agent_runs, len(store.context.audit.diffs)) == ((), 1)
    with pytest.raises(InvalidOptionError, match=r"keep_runs = -1. Use a whole number"):
        AuditPolicy(keep_runs=-1)


def test_the_trail_keeps_to_the_limits_by_joining_diffs() -> None:
    """Diffs are joined when the trail exceeds its limits."""
    limits = ContextLimits(max_namespace_size=6_000, max_array_items=20)
    store = opened(checker=ContextSizeChecker(limits))
    for number in range(30):
        store.write("summarization", {"reasoning.summary": f"{number}" * 400})
    assert 2 <= len(store.context.audit.diffs) < 20
    assert len(store.context.audit.agent_runs) == 20
    assert store.replay() == store.context


def test_a_write_whose_record_does_not_fit_is_refused() -> None:
    """A write is refused if its record cannot fit even after joining diffs."""
    begun = write(START, reasoning__summary="x" * 900)
    store = opened(begun, checker=ContextSizeChecker(ContextLimits(max_namespace_size=1_500)))
    with pytest.raises(ContextSizeError, match=r"max_namespace_size at \$\.audit"):
        store.write("summarization", {"reasoning.summary": "y" * 900})
    assert store.context.reasoning.summary == "x" * 900
    assert store.context.audit.agent_runs[-1].status == "failed"


def test_a_failure_that_does_not_fit_is_said() -> None:
    """If there is no room for the record of a failed run, the error says so."""
    size = len(serialize(START))
    store = opened(checker=ContextSizeChecker(ContextLimits(max_total_size=size + 50)))
    with pytest.raises(ContextViolationError) as caught:
        store.write("validation", {"llm.model": "x"})
    assert caught.value.__notes__[0].startswith(
        "the failed run is not on record: size limit exceeded"
    )
    assert store.context.audit == AuditContext()


def test_a_clock_that_goes_back_makes_no_negative_duration() -> None:
    """A duration is 0 at least."""
    store = AgentContextStore(START, clock=ticking(timedelta(seconds=-1)))
    store.write("inference", {"llm.model": "a"})
    assert store.context.audit.agent_runs[0].duration_ms == 0


def test_a_nameless_agent_is_refused() -> None:
    """Nobody can be recorded without a name; an agent that is not registered can, as refused."""
    store = opened()
    with pytest.raises(InvalidDataError), store.run(None):  # type: ignore[arg-type]
        pass
    assert store.context is START
    with pytest.raises(ContextViolationError, match="not registered"):
        store.write("stranger", {"llm.model": "a"})
    assert store.context.audit.agent_runs[0].agent_id == "stranger"


def test_a_store_takes_other_rules() -> None:
    """The validator of the caller decides."""
    validator = ContextValidator()
    validator.register_agent("critic", ["reasoning.summary"])
    store = opened(validator=validator)
    assert store.write("critic", {"reasoning.summary": "weak"}).reasoning.summary == "weak"


def _with_trail(*changes: dict[str, Any]) -> AgentContext:
    return evolve(
        RICH, audit=AuditContext(diffs=tuple(ContextDiff(WHEN, "x", change) for change in changes))
    )


def test_a_trail_that_leads_elsewhere_is_refused() -> None:
    """Opening a store checks the trail; the error names the diff at fault."""
    with pytest.raises(
        TrailError, match=r"\$\.audit\.diffs\[0\]: cannot be read: reasoning: int is not an object"
    ):
        opened(_with_trail({"reasoning": 1}))
    with pytest.raises(
        TrailError,
        match=r"\$\.audit\.diffs\[0\]: does not fit: \$\.reasoning\.summary: the patch expects 'y'",
    ):
        opened(_with_trail({"reasoning": {"summary": {"old": "x", "new": "y"}}}))
    with pytest.raises(TrailError, match=r"\$\.audit\.diffs\[1\]: does not fit"):
        replay(
            START, _with_trail({}, {"reasoning": {"summary": {"old": "x", "new": "y"}}}).audit.diffs
        )


def test_an_oversized_context_is_not_opened() -> None:
    """A store does not begin with what it would refuse."""
    with pytest.raises(ContextSizeError):
        opened(RICH, checker=ContextSizeChecker(ContextLimits(max_array_items=1)))
