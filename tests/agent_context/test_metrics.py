"""The store counts model calls with tokens and cost, and runs with duration and outcome."""

from datetime import UTC, datetime, timedelta
from itertools import count
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from polycontext.agent_context import (
    DEFAULT_RIGHTS,
    AgentContextStore,
    ContextPatch,
    ContextViolationError,
    deserialize,
    serialize,
)
from polycontext.agent_context.metrics import ModelCall
from polycontext.agent_context.records import AgentMetrics, LLMDecision, LLMUsage, PerformanceData
from polycontext.base import InvalidDataError
from tests.agent_context.changes import RICH, START

WHEN = datetime(2026, 3, 1, 9, tzinfo=UTC)
SMALL = ModelCall("small", 100, 20, 0.25, "inference", "cheap enough", "low")
LARGE = ModelCall("large", 1_000, 300, 1.5, "inference", "hard question", "high")


def opened(**settings: Any) -> AgentContextStore:
    """Return a store whose clock goes on by 20 ms each time it is read."""
    # A generator could not be read by two threads at once; a counter can.
    numbers = count()
    return AgentContextStore(
        START, clock=lambda: WHEN + timedelta(milliseconds=20) * next(numbers), **settings
    )


def test_calls_are_counted_in_all_and_by_agent() -> None:
    """Tokens and costs add up in total and by agent, and each call is recorded as a decision."""
    store = opened()
    with store.run("inference") as run:
        run.write({"llm.model": "small"})
        run.record_call(SMALL)
        run.record_call(LARGE)
        assert run.context.llm.usage is None
    store.record_call("validation", SMALL)
    assert store.context.llm.usage == LLMUsage(
        1_540, 1_200, 340, 2.0, {"inference": 1.75, "validation": 0.25}
    )
    assert store.context.llm.decisions[:2] == (
        LLMDecision(WHEN, "inference", "inference", "small", "cheap enough", "low"),
        LLMDecision(WHEN, "inference", "inference", "large", "hard question", "high"),
    )
    assert store.context.llm.decisions[2].agent_id == "validation"
    first = ContextPatch.of(store.context.audit.diffs[0]).summary()
    assert (
        first
        == "[inference] Changes: llm.model_changed=1, llm.usage_changed=1, llm.decisions_added=2"
    )
    assert store.context.audit.agent_runs[0].keys_written == (
        "llm.model",
        "llm.usage",
        "llm.decisions",
    )
    assert store.replay() == store.context


def test_runs_are_measured_by_the_stores_clock() -> None:
    """Milliseconds, calls, tokens and money of each agent, and how its last run ended."""
    store = opened()
    with store.run("inference") as run:
        run.record_call(SMALL)
    store.write("inference", {"llm.model": "small"})
    store.write("summarization", {"reasoning.summary": "x"})
    assert store.context.diagnostics.performance == PerformanceData(
        60,
        {
            "inference": AgentMetrics(40, 1, "success", 120, 0.25),
            "summarization": AgentMetrics(20, 0, "success"),
        },
    )
    assert ContextPatch.of(store.context.audit.diffs[-1]).keys == ("reasoning.summary",)
    assert AgentContextStore(deserialize(serialize(store.context))).context == store.context


def test_what_a_failed_run_has_spent_is_spent() -> None:
    """A failed run loses its writes, but its calls are counted and its status recorded."""
    store = opened()
    with pytest.raises(RuntimeError), store.run("inference") as run:  # noqa: PT012  the block fails
        run.write({"llm.model": "small"})
        run.record_call(LARGE)
        raise RuntimeError("no answer")
    assert store.context.llm.model == ""
    assert store.context.llm.usage == LLMUsage(1_300, 1_000, 300, 1.5, {"inference": 1.5})
    assert store.context.diagnostics.performance == PerformanceData(
        20, {"inference": AgentMetrics(20, 1, "failed", 1_300, 1.5)}
    )
    (told,) = store.context.audit.agent_runs
    assert (told.status, told.keys_written) == ("failed", ("llm.usage", "llm.decisions"))
    assert store.replay() == store.context


def test_a_refusal_is_not_measured() -> None:
    """A refused write without a call adds no metrics."""
    store = opened()
    with pytest.raises(ContextViolationError):
        store.write("inference", {"reasoning.summary": "x"})
    for number in range(5):
        with store.run(f"stranger {number}"):
            pass
    assert store.context.diagnostics is START.diagnostics


def test_a_stranger_counts_nothing() -> None:
    """An unregistered agent cannot record calls, and neither can a run that has ended."""
    store = opened()
    with pytest.raises(ContextViolationError, match=r"may not write llm\.usage"):
        store.record_call("stranger", SMALL)
    with store.run("inference") as run:
        pass
    with pytest.raises(ContextViolationError, match="its run has ended"):
        run.record_call(SMALL)
    assert store.context.llm is START.llm


@pytest.mark.parametrize("agent", DEFAULT_RIGHTS)
def test_nobody_writes_what_the_store_measures(agent: str) -> None:
    """Not even the orchestrator says how long another took."""
    store = opened()
    with pytest.raises(ContextViolationError, match=r"diagnostics\.performance"):
        store.write(agent, {"diagnostics.performance": {"total_duration_ms": 0}})
    assert store.context.diagnostics.performance is None


def test_what_was_counted_before_goes_on() -> None:
    """A context that comes with usage and performance is counted on from there."""
    store = AgentContextStore(RICH, clock=lambda: WHEN)
    store.record_call("inference", SMALL)
    assert store.context.llm.usage == LLMUsage(130, 100, 20, 0.25, {"inference": 0.25})
    assert store.context.diagnostics.performance == PerformanceData(
        5, {"inference": AgentMetrics(5, 1, "success", 120, 0.25)}
    )


def test_calls_at_the_same_time_add_up() -> None:
    """Eighty concurrent calls from eight threads are each counted once, without a conflict."""
    store = opened()
    barrier = Barrier(8)

    def work(agent: str) -> None:
        barrier.wait()
        for _ in range(10):
            store.record_call(agent, SMALL)

    threads = [Thread(target=work, args=(agent,)) for agent in DEFAULT_RIGHTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.context.llm.usage == LLMUsage(
        9_600, 8_000, 1_600, 20.0, dict.fromkeys(DEFAULT_RIGHTS, 2.5)
    )
    performance = store.context.diagnostics.performance
    assert performance is not None
    assert {metrics.llm_calls for metrics in performance.agent_metrics.values()} == {10}
    assert store.replay() == store.context


def test_decisions_do_not_pile_up() -> None:
    """Only the newest 500 decisions are kept, each with a reason of at most 200 characters."""
    store = opened()
    with store.run("inference") as run:
        for number in range(10_000):
            run.record_call(ModelCall(f"{number}", 1, reason="x" * 5_000))
    assert [decision.selected for decision in store.context.llm.decisions] == [
        str(number) for number in range(9_500, 10_000)
    ]
    assert {len(decision.reason) for decision in store.context.llm.decisions} == {200}
    assert store.context.llm.usage is not None
    assert store.context.llm.usage.total_tokens == 10_000
    store.record_call("inference", SMALL)
    assert len(store.context.llm.decisions) == 500


RESPONSES = [
    (
        {"model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}},
        (7, 2),
    ),
    ({"model": "m", "usage": {"input_tokens": 7, "output_tokens": 2}}, (7, 2)),
    (
        {
            "model": "m",
            "usage": {
                "input_tokens": 7,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": None,
                "output_tokens": 2,
            },
        },
        (107, 2),
    ),
    (
        SimpleNamespace(model="m", usage=SimpleNamespace(prompt_tokens=7, completion_tokens=2)),
        (7, 2),
    ),
    (
        {
            "model": "m",
            "usage": {
                "prompt_tokens": 7,
                "input_tokens": 7,
                "completion_tokens": 2,
                "output_tokens": 2,
            },
        },
        (7, 2),
    ),
    ({"model": "m", "usage": {}}, (0, 0)),
]


@pytest.mark.parametrize(("response", "tokens"), RESPONSES)
def test_a_response_tells_its_call(response: Any, tokens: tuple[int, int]) -> None:
    """Dicts and objects, with the names of either large provider; the rest is told besides."""
    assert ModelCall.of(response, cost_usd=0.5, reason="r") == ModelCall(
        "m", *tokens, 0.5, reason="r"
    )


@pytest.mark.parametrize(
    "response",
    [
        None,
        "text",
        {"model": "m"},
        {"usage": {"prompt_tokens": "7"}},
        {"usage": {"input_tokens": 1, "cache_read_input_tokens": 1.5}},
        {"usage": {"prompt_tokens": -1}},
        {"model": 3, "usage": {}},
    ],
)
def test_a_response_that_tells_nothing_is_refused(response: Any) -> None:
    """No usage, or numbers that are none: a typed error, and nothing is counted."""
    with pytest.raises(InvalidDataError):
        ModelCall.of(response)


@pytest.mark.parametrize("call", [None, "small", 3, {"model": 1}, {"tokens": 3}])
def test_what_is_no_call_is_not_counted(call: Any) -> None:
    """An invalid call is refused without ending the run; a dict of its fields is accepted."""
    store = opened()
    with store.run("inference") as run:
        with pytest.raises(InvalidDataError):
            run.record_call(call)
        run.record_call({"model": "small", "prompt_tokens": 3})  # type: ignore[arg-type]
    assert store.context.llm.usage == LLMUsage(3, 3, by_agent={"inference": 0.0})
