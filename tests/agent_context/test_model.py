"""Every specified namespace, type and field exists, is validated on creation and is immutable."""

import copy
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import attrs
import pytest
from hypothesis import given

from polycontext.agent_context import AgentContext
from polycontext.agent_context.record_base import Record, with_changes
from polycontext.agent_context.records import (
    AgentMetrics,
    AgentRun,
    Artifact,
    ExternalContent,
    Fact,
    Intent,
    LLMUsage,
    PerformanceData,
    ReasoningContext,
    RetrievalPlan,
)
from polycontext.agent_context.schema import SCHEMA, key_schema
from polycontext.base import InvalidDataError, UnknownNameError
from polycontext.base.json_data import FrozenDict
from tests.agent_context.strategies import CONTEXTS


@pytest.mark.parametrize(
    ("namespace", "key", "near"),
    [
        ("reasonings", "intents", ("reasoning",)),
        ("Reasoning", "intents", ("reasoning",)),
        ("xyz", "intents", ()),
        ("reasoning", "intent", ("reasoning.intents",)),
        ("reasoning", "INTENTS", ()),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(
    namespace: str, key: str, near: tuple[str, ...]
) -> None:
    """Names are compared exactly; what comes near is named, and everything that there is."""
    with pytest.raises(UnknownNameError) as caught:
        key_schema(namespace, key)
    legal = (
        tuple(f"reasoning.{name}" for name in SCHEMA["reasoning"])
        if namespace == "reasoning"
        else tuple(SCHEMA)
    )
    assert (caught.value.near, caught.value.legal) == (near, legal)
    assert f"Use {', '.join(legal)}" in str(caught.value)


@given(CONTEXTS)
def test_a_clone_is_the_context_itself(ctx: AgentContext) -> None:
    """Cloning or copying a context returns the same object, since contexts are immutable."""
    assert ctx.clone() is copy.copy(ctx) is copy.deepcopy(ctx) is ctx


def values_in(value: object) -> list[object]:
    """Return a value and all that it holds."""
    if isinstance(value, Record):
        return [
            value,
            *(
                found
                for attribute in attrs.fields(type(value))
                for found in values_in(getattr(value, attribute.name))
            ),
        ]
    if isinstance(value, FrozenDict | tuple):
        held = value.values() if isinstance(value, FrozenDict) else value
        return [value, *(found for item in held for found in values_in(item))]
    return [value]


@given(CONTEXTS)
def test_nothing_in_a_context_can_change(ctx: AgentContext) -> None:
    """A context holds only immutable values, whatever it was made from, and no field can be set."""
    immutable = (Record, tuple, FrozenDict, str, int, float, datetime, type(None))
    for value in values_in(ctx):
        assert isinstance(value, immutable)
        if isinstance(value, Record):
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                value.unknown = {}  # type: ignore[attr-defined]


def test_a_change_is_checked() -> None:
    """A change of an unknown field, or to a value that is not legal, is refused with its path."""
    with pytest.raises(InvalidDataError, match=r"intnts: unknown field. Use intents"):
        with_changes(ReasoningContext(), intnts=())
    with pytest.raises(InvalidDataError, match=r"intents\[0\].confidence: 2.0 is out of range"):
        with_changes(ReasoningContext(), intents=[{"confidence": 2}])
    with pytest.raises(InvalidDataError, match=r"version: '2\.0\.0' is not the version"):
        with_changes(AgentContext(), version="2.0.0")


FAULTS: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "a lone surrogate": (Intent, {"type": "\ud800"}, "type", "lone surrogate U+D800"),
    "confidence above one": (
        Intent,
        {"confidence": 1.0000001},
        "confidence",
        "1.0000001 is out of range",
    ),
    "a score outside": (
        ReasoningContext,
        {"confidence_scores": {"a": 2}},
        "confidence_scores.a",
        "2.0 is out of range",
    ),
    "an item that is no record": (
        ReasoningContext,
        {"intents": [Intent(), "x"]},
        "intents[1]",
        "str is not an object",
    ),
    "a record of another class": (
        ReasoningContext,
        {"intents": [Fact()]},
        "intents[0]",
        "Fact is not an object",
    ),
    "too many bits": (LLMUsage, {"total_tokens": 2**63}, "total_tokens", "is out of range"),
    "a map of numbers with a text": (
        LLMUsage,
        {"by_agent": {"a b": "1"}},
        "by_agent['a b']",
        "'1' is not a number",
    ),
    "a naive time": (
        Fact,
        {"timestamp": datetime(2026, 1, 1)},  # noqa: DTZ001
        "timestamp",
        "naive datetime",
    ),
    "a time out of range": (
        Fact,
        {"timestamp": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))},
        "timestamp",
        "no UTC time",
    ),
    "a date": (Fact, {"timestamp": "2026-01-01"}, "timestamp", "is without a time zone"),
    "content twice": (
        Artifact,
        {"content": 1, "external": ExternalContent("file:///a")},
        "external",
        "inline as well",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_record_refuses_what_its_fields_cannot_hold(name: str) -> None:
    """A value of the wrong type or range is refused, never coerced, with its field and a remedy."""
    cls, fields, path, problem = FAULTS[name]
    with pytest.raises(InvalidDataError) as caught:
        cls(**fields)
    assert caught.value.path == path
    assert problem in str(caught.value)
    assert ". Use " in str(caught.value)


def test_edges_are_legal() -> None:
    """The ends of each range are in it, and a whole number is a legal confidence."""
    assert [Intent(confidence=value).confidence for value in (0, 1, 0.0, 1.0)] == [
        0.0,
        1.0,
        0.0,
        1.0,
    ]
    assert type(Intent(confidence=1).confidence) is float
    assert LLMUsage(total_tokens=2**63 - 1, prompt_tokens=0).total_tokens == 2**63 - 1
    assert RetrievalPlan(priority=-(2**63)).priority == -(2**63)


class Stamp(datetime):
    """Be a time with a type of its own."""


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 1, 1, 12, tzinfo=UTC),
        datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        Stamp(2026, 1, 1, 12, tzinfo=UTC),
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:00:00.000Z",
        "2026-01-01 14:00:00+02:00",
    ],
)
def test_times_are_kept_in_utc(moment: Any) -> None:
    """A moment of any zone, as datetime or ISO 8601 text, is held as a plain datetime in UTC."""
    held = Fact(timestamp=moment).timestamp
    assert held == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert (held.tzinfo, type(held)) == (UTC, datetime)


NEGATIVE = [
    (LLMUsage, {"total_tokens": -1}),
    (LLMUsage, {"prompt_tokens": -1}),
    (LLMUsage, {"completion_tokens": -(2**63)}),
    (LLMUsage, {"cost_usd": -0.01}),
    (LLMUsage, {"by_agent": {"inference": -1}}),
    (AgentMetrics, {"duration_ms": -1}),
    (AgentMetrics, {"llm_calls": -1}),
    (AgentMetrics, {"tokens": -1}),
    (AgentMetrics, {"cost": -1}),
    (PerformanceData, {"total_duration_ms": -1}),
    (AgentRun, {"duration_ms": -1}),
    (ExternalContent, {"size": -1}),
]


@pytest.mark.parametrize(("cls", "fields"), NEGATIVE)
def test_there_are_no_negative_counts(cls: type[Record], fields: dict[str, Any]) -> None:
    """Nobody used less than no tokens, time, money or bytes; the error names the field."""
    with pytest.raises(
        InvalidDataError,
        match=r"^\w+(\.inference)?: -.* is out of range. Use a (whole )?number from 0",
    ):
        cls.from_json(fields)
