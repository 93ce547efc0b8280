"""Measure the time and memory that operations on an AgentContext take at 100 KB and 1 MB.

The operations are creating, cloning, writing, serialising, deserialising, checking the size, and
computing what changed.
"""

import gc
import tracemalloc
from collections.abc import Callable
from itertools import cycle
from time import process_time
from timeit import repeat
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from polycontext.agent_context import (
    AgentContext,
    ContextSizeChecker,
    ContextValidator,
    DiffTracker,
    deserialize,
    get_stats,
    serialize,
)
from polycontext.agent_context.records import Fact
from polycontext.linearity import UNIX_EPOCH

WHEN = "2026-03-01T09:{:02}:{:02}.250000Z"
PROSE = (
    "the pipeline failed after the upgrade because a worker kept an old connection open and "
    "nobody noticed until the nightly run"
)
WORDS = PROSE.split()
AGENTS = (
    "intent_detection",
    "reasoning_structure",
    "retrieval_planner",
    "context_synthesizer",
    "inference",
    "validation",
    "summarization",
)
TIMES = 7

Many = Callable[[int, Callable[[int], Any]], list[Any]]
"""A function that makes a number of items, multiplied by the scale."""


def _when(index: int) -> str:
    return WHEN.format(index // 60 % 60, index % 60)


def _text(index: int, words: int) -> str:
    return " ".join(
        WORDS[(index * 7 + step * (1 + index % 5)) % len(WORDS)] for step in range(words)
    )


def _agent(index: int) -> str:
    return AGENTS[index % len(AGENTS)]


def _reasoning(many: Many, scale: int) -> dict[str, Any]:
    return {
        "intents": many(
            6,
            lambda i: {
                "type": "analysis",
                "confidence": 0.9 - i % 9 / 10,
                "entities": [f"e{i}", f"e{i + 1}"],
            },
        ),
        "entities": {
            f"e{i}": {"name": _text(i, 2), "kind": "service", "seen": i} for i in range(25 * scale)
        },
        "hypotheses": many(
            15,
            lambda i: {"id": f"h{i}", "description": _text(i, 15), "dependencies": [f"h{i // 2}"]},
        ),
        "conclusions": many(
            15,
            lambda i: {
                "id": f"c{i}",
                "content": _text(i, 20),
                "confidence": 0.8,
                "based_on": [f"f{i}", f"f{i + 3}", f"h{i}"],
            },
        ),
        "dependency_map": {f"h{i}": [f"h{i // 2}"] for i in range(15 * scale)},
        "confidence_scores": {f"c{i}": 0.8 for i in range(15 * scale)},
        "summary": _text(3, 60),
    }


def _enrichment(many: Many) -> dict[str, Any]:
    return {
        "facts": many(
            60,
            lambda i: {
                "id": f"f{i}",
                "content": _text(i, 25),
                "source": "tracker",
                "timestamp": _when(i),
                "confidence": 0.95,
                "provenance": {"query": _text(i, 4), "project": f"project-{i % 9}"},
            },
        ),
        "derived_knowledge": many(
            15,
            lambda i: {
                "id": f"k{i}",
                "content": _text(i, 18),
                "derived_from": [f"f{i}", f"f{i + 1}"],
            },
        ),
        "relationships": many(
            25, lambda i: {"from": f"e{i}", "to": f"e{i + 1}", "type": "depends_on"}
        ),
        "context_links": many(5, lambda i: f"tracker://item/{i}"),
    }


def _retrieval(many: Many) -> dict[str, Any]:
    return {
        "plans": many(
            4,
            lambda i: {
                "id": f"p{i}",
                "description": _text(i, 12),
                "sources": ["tracker", "wiki"],
                "priority": i,
            },
        ),
        "queries": many(
            8,
            lambda i: {
                "id": f"q{i}",
                "query_string": _text(i, 5),
                "source": "wiki",
                "filters": {"since": "2026-01-01"},
                "results": [
                    {"id": f"r{i}-{j}", "title": _text(i + j, 6), "score": 0.5 + j / 20}
                    for j in range(4)
                ],
            },
        ),
        "artifacts": many(
            10,
            lambda i: {
                "id": f"a{i}",
                "type": "text/plain",
                "content": _text(i, 800),
                "source": "wiki",
            },
        ),
    }


def _llm(many: Many) -> dict[str, Any]:
    return {
        "provider": "local",
        "model": "small",
        "usage": {
            "total_tokens": 81234,
            "prompt_tokens": 70000,
            "completion_tokens": 11234,
            "cost_usd": 0.42,
        },
        "decisions": many(
            15,
            lambda i: {
                "timestamp": _when(i),
                "agent_id": _agent(i),
                "task_type": "inference",
                "selected": "small",
                "reason": _text(i, 6),
                "complexity": "low",
            },
        ),
    }


def _diagnostics(many: Many) -> dict[str, Any]:
    return {
        "errors": many(
            2,
            lambda i: {
                "timestamp": _when(i),
                "agent_id": _agent(i),
                "message": _text(i, 10),
                "severity": "low",
            },
        ),
        "warnings": many(
            5, lambda i: {"timestamp": _when(i), "agent_id": _agent(i), "message": _text(i, 10)}
        ),
        "performance": {
            "total_duration_ms": 90321,
            "agent_metrics": {
                agent: {"duration_ms": 1200, "llm_calls": 3, "status": "success", "tokens": 900}
                for agent in AGENTS
            },
        },
        "validation_reports": many(
            3, lambda i: {"timestamp": _when(i), "agent_id": "validation", "passed": True}
        ),
    }


def _audit(many: Many) -> dict[str, Any]:
    return {
        "agent_runs": many(
            30,
            lambda i: {
                "timestamp": _when(i),
                "agent_id": _agent(i),
                "status": "success",
                "duration_ms": 120 + i,
                "keys_written": ["enrichment.facts", "diagnostics.warnings"],
            },
        ),
        "diffs": many(
            25,
            lambda i: {
                "timestamp": _when(i),
                "agent_id": _agent(i),
                "changes": {
                    "enrichment": {
                        "facts": {"old": [], "new": [{"id": f"f{i}", "content": _text(i, 25)}]}
                    }
                },
            },
        ),
    }


def document(scale: int) -> dict[str, Any]:
    """Return a document as seven agents leave it, of about 100 KB of JSON times `scale`."""

    def many(count: int, make: Callable[[int], Any]) -> list[Any]:
        return [make(index) for index in range(count * scale)]

    return {
        "version": "1.0.0",
        "metadata": {
            "session_id": "session-1",
            "trace_id": "trace-1",
            "created_at": WHEN.format(0, 0),
            "locale": "en",
        },
        "reasoning": _reasoning(many, scale),
        "enrichment": _enrichment(many),
        "retrieval": _retrieval(many),
        "llm": _llm(many),
        "diagnostics": _diagnostics(many),
        "audit": _audit(many),
    }


def _best(work: Callable[[], object], number: int = 20) -> float:
    """Return the least microseconds of one call in CPU time, because the machine may be busy."""
    gc.collect()
    return min(repeat(work, number=number, repeat=TIMES, timer=process_time)) / number * 1e6


def _each_once(work: Callable[[AgentContext], object], contexts: list[AgentContext]) -> float:
    """Return the least microseconds of one call, each on a fresh context without cached results."""
    waiting = iter(contexts)
    return (
        min(repeat(lambda: work(next(waiting)), number=1, repeat=len(contexts), timer=process_time))
        * 1e6
    )


def changes(context: AgentContext) -> dict[str, AgentContext]:
    """Return contexts that differ from this one by a few items."""
    guard, facts, scores = (
        ContextValidator.default(),
        context.enrichment.facts,
        context.reasoning.confidence_scores,
    )

    def write(**values: Any) -> AgentContext:
        return guard.safe_update(
            context,
            "orchestrator",
            {name.replace("__", "."): value for name, value in values.items()},
        )

    new = tuple(Fact(f"new-{number}", "one more") for number in range(3))
    return {
        "three facts more": write(enrichment__facts=(*facts, *new)),
        "first and last fact anew": write(
            enrichment__facts=(Fact(facts[0].id, "anew"), *facts[1:-1], Fact(facts[-1].id, "anew"))
        ),
        "a fact, a score, the summary": write(
            enrichment__facts=(*facts, new[0]),
            reasoning__confidence_scores={**scores, "new": 0.5},
            reasoning__summary="short",
        ),
    }


def capture(context: AgentContext, changed: AgentContext) -> float:
    """Return the microseconds of a capture, alternating so that each one finds the change."""
    tracker, contexts = DiffTracker(context), cycle([changed, context])
    return _best(lambda: tracker.capture("inference", next(contexts), timestamp=UNIX_EPOCH), 100)


def measure(scale: int) -> dict[str, float]:
    """Return the microseconds of each operation on one context, by name."""
    raw = orjson.dumps(document(scale))
    context = deserialize(raw)
    check = ContextSizeChecker().check
    guard = ContextValidator.default()
    facts = (*context.enrichment.facts, Fact("new", "one more"))

    def write() -> AgentContext:
        return guard.safe_set(context, "context_synthesizer", "enrichment", "facts", facts)

    unmeasured = [deserialize(raw) for _ in range(TIMES)]
    check(context)
    changed = changes(context)
    several = changed["a fact, a score, the summary"]
    patch = DiffTracker(context).capture("inference", several, timestamp=UNIX_EPOCH)
    captures = {f"diff capture, {name}": capture(context, other) for name, other in changed.items()}
    return {
        "new": _best(lambda: AgentContext.new("session-1", "trace-1"), 1000),
        "clone": _best(context.clone, 1000),
        "serialise": _best(lambda: serialize(context)),
        "deserialise": _best(lambda: deserialize(raw)),
        "write one more fact, guarded": _best(write),
        "size check after that write": _each_once(check, [write() for _ in range(TIMES)]),
        "size check again": _best(lambda: check(context)),
        "size check, first after reading": _each_once(check, unmeasured),
        "stats": _best(lambda: get_stats(context)),
        **captures,
        "record the last one for the trail": _best(patch.record, 100),
        "apply it": _best(lambda: patch.apply(context)),
    }


BUDGETS = {
    "diff capture, three facts more": "50",
    "diff capture, first and last fact anew": "50",
    "diff capture, a fact, a score, the summary": "50",
    "new": "10",
    "clone": "1",
    "serialise": "500 at 100 KB",
    "deserialise": "800 at 100 KB",
    "size check after that write": "200",
    "size check again": "200",
}


MEMORY_BUDGETS = {
    "new": "5 KB",
    "clone": "2x",
    "serialise": "1.5x",
    "deserialise": "2x",
    "diff capture": "1 KB",
    "size check": "0 KB",
}
"""The allowance of additional memory: bytes, or a multiple of the document's bytes."""


def memory(scale: int) -> dict[str, int]:
    """Return the peak of additional bytes during each operation on one context, by name."""
    raw = orjson.dumps(document(scale))
    context = deserialize(raw)
    check = ContextSizeChecker().check
    check(context)
    tracker, several = DiffTracker(context), changes(context)["a fact, a score, the summary"]
    return {
        "new": _peak(lambda: AgentContext.new("session-1", "trace-1")),
        "clone": _peak(context.clone),
        "serialise": _peak(lambda: serialize(context)),
        "deserialise": _peak(lambda: deserialize(raw)),
        "diff capture": _peak(lambda: tracker.capture("inference", several, timestamp=UNIX_EPOCH)),
        "size check": _peak(lambda: check(context)),
    }


def _peak(work: Callable[[], object]) -> int:
    """Return the peak of bytes that are allocated during one run, including its result.

    Memory that a library allocates outside Python is not counted.
    """
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


def _memory_table(sizes: dict[int, int]) -> Table:
    found = {scale: memory(scale) for scale in sizes}
    table = Table(
        title="memory of an AgentContext, bytes beyond what is there (times the document)"
    )
    for name in ("work", *(f"{size / 1000:,.0f} KB" for size in sizes.values()), "budget"):
        table.add_column(name, justify="left" if name == "work" else "right")
    for name, budget in MEMORY_BUDGETS.items():
        cells = (
            f"{found[scale][name]:,} ({found[scale][name] / size:.1f}x)"
            for scale, size in sizes.items()
        )
        table.add_row(name, *cells, budget)
    return table


def run(console: Console) -> None:
    """Print microseconds and bytes for contexts of about 100 KB and 1 MB, with their budgets."""
    sizes = {scale: len(serialize(deserialize(orjson.dumps(document(scale))))) for scale in (1, 10)}
    found = {scale: measure(scale) for scale in sizes}
    table = Table(title=f"an AgentContext, µs (best of {TIMES})")
    for name in ("work", *(f"{size / 1000:,.0f} KB" for size in sizes.values()), "ratio", "budget"):
        table.add_column(name, justify="left" if name == "work" else "right")
    for name, small in found[1].items():
        large = found[10][name]
        table.add_row(
            name, f"{small:.2f}", f"{large:.2f}", f"{large / small:.1f}", BUDGETS.get(name, "-")
        )
    console.print(table)
    console.print(_memory_table(sizes))


if __name__ == "__main__":
    run(Console(width=150))
