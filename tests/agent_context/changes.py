"""Hypothesis strategies for related contexts: some keys are rewritten, the rest is shared."""

from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from polycontext.agent_context import AgentContext, ContextValidator
from polycontext.agent_context.kinds import Shape
from polycontext.agent_context.records import Artifact, Conclusion, Fact, Intent
from polycontext.agent_context.schema import KeySchema, all_keys
from polycontext.base import InvalidDataError
from tests.agent_context.strategies import CONTEXTS, of_kind

GUARD = ContextValidator.default()
KEYS = [key for key in all_keys() if key.namespace not in ("audit", "metadata")]
START = AgentContext.new("session-1", "trace-1")
FACTS = tuple(Fact(f"f{index}", f"fact {index}") for index in range(6))


def write(context: AgentContext, **changes: Any) -> AgentContext:
    """Return the context with keys written, their dots as double underscores."""
    return GUARD.safe_update(
        context, "orchestrator", {name.replace("__", "."): value for name, value in changes.items()}
    )


RICH = write(
    START,
    reasoning__intents=[Intent("query", 0.9)],
    reasoning__entities={"person": {"name": "Ada"}, "place": "here"},
    reasoning__conclusions=[Conclusion("c1", "so it is", 0.5)],
    reasoning__dependency_map={"h1": ["h0"]},
    reasoning__confidence_scores={"c1": 0.5},
    reasoning__summary="short",
    enrichment__facts=FACTS,
    enrichment__context_links=["a", "b", "c"],
    retrieval__artifacts=[
        Artifact("a1", "text", "some text"),
        Artifact("a2", "table", {"rows": [1, 2]}),
    ],
    llm__usage={"total_tokens": 10},
    diagnostics__performance={
        "total_duration_ms": 5,
        "agent_metrics": {"inference": {"duration_ms": 5}},
    },
)


def _shuffled(array: tuple[Any, ...], new: list[Any]) -> st.SearchStrategy[list[Any]]:
    """Return some of the items, in any order, and new ones among them."""
    return st.permutations([*array, *new]).flatmap(
        lambda items: st.integers(0, len(items)).map(lambda length: items[:length])
    )


@st.composite
def written(draw: st.DrawFn, context: AgentContext, keys: "list[KeySchema]" = KEYS) -> AgentContext:
    """Return the context with up to three of the keys written anew."""
    for key in draw(st.lists(st.sampled_from(keys), max_size=3, unique_by=lambda key: key.path)):
        value = draw(of_kind(key.kind))
        held = getattr(getattr(context, key.namespace), key.key)
        if key.shape is Shape.ARRAY and draw(st.booleans()):
            value = draw(_shuffled(held, value))
        # Ids that stand twice, and references to nothing, are refused.
        with suppress(InvalidDataError):
            context = GUARD.safe_set(context, "orchestrator", key.namespace, key.key, value)
    return context


BASES = st.just(RICH) | CONTEXTS


@st.composite
def chains(draw: st.DrawFn, length: int) -> list[AgentContext]:
    """Return contexts of which each comes from the one before, or from nowhere."""
    contexts = [draw(BASES)]
    while len(contexts) < length:
        contexts.append(draw(written(contexts[-1]) | CONTEXTS))
    return contexts
