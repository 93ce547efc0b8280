"""Sizes are exact and remembered; a limit itself is legal, and one more is not."""

import warnings
from contextlib import suppress
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import (
    AgentContext,
    ContextLimits,
    ContextSizeChecker,
    ContextSizeError,
    get_stats,
    serialize,
)
from polycontext.agent_context import limits as measuring
from polycontext.agent_context.errors import ContextSizeWarning
from polycontext.agent_context.json_text import dumps
from polycontext.agent_context.kinds import Shape
from polycontext.agent_context.record_base import with_changes
from polycontext.agent_context.records import (
    Fact,
    ReasoningContext,
)
from polycontext.agent_context.schema import SCHEMA, all_keys
from polycontext.base import InvalidDataError, InvalidOptionError
from tests.agent_context.changes import GUARD
from tests.agent_context.strategies import CONTEXTS, of_kind

ARRAYS = [key for key in all_keys() if key.shape is Shape.ARRAY]


@given(CONTEXTS)
def test_the_sum_of_the_parts_is_the_size(ctx: AgentContext) -> None:
    """The measured size of the whole, and of each namespace, is that of what is written."""
    stats = get_stats(ctx)
    assert stats.total_size == len(serialize(ctx))
    assert stats.namespace_sizes == {name: len(dumps(getattr(ctx, name))) for name in SCHEMA}
    assert stats.array_counts == {
        key.key: len(getattr(getattr(ctx, key.namespace), key.key)) for key in ARRAYS
    }


@given(st.data(), CONTEXTS)
def test_sizes_stay_exact_through_writes(data: st.DataObject, ctx: AgentContext) -> None:
    """A size that is derived from a remembered one equals the size of the written context."""
    get_stats(ctx)
    for key in data.draw(
        st.lists(
            st.sampled_from([key for key in all_keys() if key.namespace != "audit"]), max_size=3
        )
    ):
        with suppress(InvalidDataError):  # ids that stand twice, and references to nothing
            ctx = GUARD.safe_set(
                ctx, "orchestrator", key.namespace, key.key, data.draw(of_kind(key.kind))
            )
        assert get_stats(ctx).total_size == len(serialize(ctx))
    evolved = attrs.evolve(ctx, reasoning=attrs.evolve(ctx.reasoning, summary="changed"))
    assert get_stats(evolved).total_size == len(serialize(evolved))


def test_a_check_after_a_write_measures_only_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a measured context gains a fact, only that fact is serialised again."""
    ctx = AgentContext(reasoning=ReasoningContext(entities={"a": "x" * 1000}))
    ctx = GUARD.safe_set(
        ctx, "orchestrator", "enrichment", "facts", [Fact(str(number)) for number in range(500)]
    )
    get_stats(ctx)
    written: list[bytes] = []

    def recorded(value: Any) -> bytes:
        written.append(dumps(value))
        return written[-1]

    monkeypatch.setattr(measuring, "dumps", recorded)
    new = Fact("new")
    ctx = GUARD.safe_set(ctx, "orchestrator", "enrichment", "facts", (*ctx.enrichment.facts, new))
    assert get_stats(ctx).array_counts["facts"] == 501
    assert [text for text in written if b"timestamp" in text] == [dumps(new)]
    assert not any(b"x" * 1000 in text for text in written)


def limited(**limits: int) -> ContextSizeChecker:
    """Return a checker with some limits lowered."""
    return ContextSizeChecker(ContextLimits(**limits))


def refused(checker: ContextSizeChecker, ctx: AgentContext) -> ContextSizeError:
    """Return the error that a check raises."""
    with pytest.raises(ContextSizeError) as caught:
        checker.check(ctx)
    return caught.value


def test_the_defaults_are_the_agreed_ones() -> None:
    """The defaults: 10 MiB in all, 2 MiB a namespace, 1,000 items, a warning beyond 8 MiB."""
    assert attrs.astuple(ContextLimits()) == (
        10_485_760,
        2_097_152,
        1_000,
        102_400,
        51_200,
        8_388_608,
    )
    assert ContextSizeChecker().limits == ContextLimits()


@given(CONTEXTS)
def test_a_size_is_legal_up_to_its_edge(ctx: AgentContext) -> None:
    """Of the whole and of each namespace: one byte less, and the context is refused."""
    sizes = {f"$.{name}": len(dumps(getattr(ctx, name))) for name in SCHEMA}
    largest = max(sizes.values())
    for limit, size in (("max_total_size", len(serialize(ctx))), ("max_namespace_size", largest)):
        limited(**{limit: size}).check(ctx)
        error = refused(limited(**{limit: size - 1}), ctx)
        assert (error.limit, error.current, error.maximum) == (limit, size, size - 1)
        assert error.unit == "bytes"
        assert {"$": len(serialize(ctx)), **sizes}[error.where] == size


@pytest.mark.parametrize("key", ARRAYS, ids=lambda key: key.path)
def test_every_array_is_legal_up_to_its_edge(key: Any) -> None:
    """Each array may have exactly the limit of items; one more is refused by its path."""
    item = "x" if key.item is None else key.item()

    def holding(count: int) -> AgentContext:
        return with_changes(
            AgentContext(),
            **{
                key.namespace: with_changes(
                    getattr(AgentContext(), key.namespace), **{key.key: (item,) * count}
                )
            },
        )

    limited(max_array_items=7).check(holding(7))
    error = refused(limited(max_array_items=7), holding(8))
    assert (error.limit, error.current, error.maximum, error.unit) == (
        "max_array_items",
        8,
        7,
        "items",
    )
    assert error.where == f"$.{key.path}"
    assert (
        str(error)
        == f"size limit exceeded: max_array_items at $.{key.path}: 8 items. Use at most 7 items."
    )


def test_a_large_context_warns() -> None:
    """Beyond the warning threshold, and not at it, a check warns and passes."""
    ctx = AgentContext.new("s", "t")
    size = len(serialize(ctx))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limited(warn_total_size=size).check(ctx)
    with pytest.warns(
        ContextSizeWarning, match=r"the context holds \d+ bytes; the limit is 10,485,760"
    ) as caught:
        limited(warn_total_size=size - 1).check(ctx)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("value", [-1, 1.5, True, "1", None])
def test_a_limit_is_a_whole_number(value: Any) -> None:
    """A limit that is not a whole number is refused."""
    with pytest.raises(InvalidOptionError, match="max_array_items"):
        ContextLimits(max_array_items=value)
