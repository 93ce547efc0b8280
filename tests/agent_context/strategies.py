"""Hypothesis strategies for contexts, derived from the kinds of the fields."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from hypothesis import strategies as st

from polycontext.agent_context import AgentContext
from polycontext.agent_context.kinds import Amount, Confidence, Count, Kind, Shape
from polycontext.agent_context.record_base import Record, layout
from polycontext.agent_context.records import Artifact

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.datetimes(timezones=st.just(UTC))
PLAIN = st.none() | st.booleans() | INTEGERS | NUMBERS | TEXTS
JSON = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)

_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: INTEGERS,
    float: NUMBERS,
    Count: st.integers(0, 2**63 - 1),
    Amount: st.floats(min_value=0, allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    Confidence: st.floats(0, 1),
    datetime: MOMENTS,
}


def of_kind(kind: Kind) -> st.SearchStrategy[Any]:
    """Return what a field of this kind may hold."""
    return st.none() | _present(kind) if kind.optional else _present(kind)


def _present(kind: Kind) -> st.SearchStrategy[Any]:
    match kind.shape:
        case Shape.SCALAR:
            return _SCALARS[kind.annotation]
        case Shape.JSON:
            return JSON
        case Shape.OBJECT:
            assert kind.record is not None
            return records(kind.record)
        case Shape.ARRAY:
            assert kind.item is not None
            return st.lists(of_kind(kind.item), max_size=2)
        case Shape.MAP:
            assert kind.item is not None
            return st.dictionaries(TEXTS, of_kind(kind.item), max_size=2)


@cache
def records(cls: type) -> st.SearchStrategy[Any]:
    """Return records of a class, each field drawn or left at its default."""
    shape = layout(cls)
    fields = {
        name: of_kind(kind)
        for name, kind in shape.kinds.items()
        if (cls, name) != (AgentContext, "version")
    }
    drawn = st.fixed_dictionaries({}, optional=fields)
    if cls is Artifact:
        drawn = drawn.filter(
            lambda values: values.get("content") is None or values.get("external") is None
        )
    return drawn.map(
        lambda values: cls(**{shape.attributes[name]: value for name, value in values.items()})
    )


CONTEXTS: st.SearchStrategy[AgentContext] = records(AgentContext)
RECORDS: st.SearchStrategy[Record] = st.sampled_from(
    [kind.record for kind in layout(AgentContext).kinds.values() if kind.record]
).flatmap(records)
