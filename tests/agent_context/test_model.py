"""Every specified namespace, type and field exists, is validated on creation and is immutable."""

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import agent_context
from polycontext.agent_context import AgentContext, records
from polycontext.agent_context.kinds import Shape
from polycontext.agent_context.record_base import Record, layout, with_changes
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
    Relationship,
    RetrievalPlan,
    utc_now,
)
from polycontext.agent_context.schema import SCHEMA, key_schema
from polycontext.base import InvalidDataError, UnknownNameError
from polycontext.base.json_data import FrozenDict
from tests.agent_context.strategies import CONTEXTS, RECORDS

AGREED = {
    "AgentContext": "version metadata reasoning enrichment retrieval llm diagnostics audit",
    "MetadataContext": "session_id trace_id created_at locale",
    "ReasoningContext": "intents entities hypotheses conclusions dependency_map confidence_scores "
    "summary",
    "Intent": "type confidence entities",
    "Hypothesis": "id description dependencies",
    "Conclusion": "id content confidence based_on",
    "EnrichmentContext": "facts derived_knowledge relationships context_links",
    "Fact": "id content source timestamp confidence provenance",
    "Knowledge": "id content derived_from",
    "Relationship": "from to type",
    "RetrievalContext": "plans queries artifacts",
    "RetrievalPlan": "id description sources filters priority",
    "Query": "id query_string source filters results",
    "Artifact": "id type content source external",
    "ExternalContent": "uri sha256 size",
    "LLMContext": "provider model usage decisions cache",
    "LLMUsage": "total_tokens prompt_tokens completion_tokens cost_usd by_agent",
    "LLMDecision": "timestamp agent_id task_type selected reason complexity",
    "DiagnosticsContext": "errors warnings performance validation_reports",
    "ErrorReport": "timestamp agent_id message severity details",
    "WarningReport": "timestamp agent_id message details",
    "PerformanceData": "total_duration_ms agent_metrics",
    "AgentMetrics": "duration_ms llm_calls status tokens cost",
    "ValidationReport": "timestamp agent_id passed issues auto_fixes",
    "AuditContext": "agent_runs diffs",
    "AgentRun": "timestamp agent_id status duration_ms keys_written error",
    "ContextDiff": "timestamp agent_id changes",
}
"""The agreed types and their names in JSON, which other languages share."""


@pytest.mark.parametrize("name", AGREED)
def test_every_agreed_field_is_there(name: str) -> None:
    """Each type has exactly the specified fields, in order, under their JSON names."""
    module = agent_context if name == "AgentContext" else records
    assert list(layout(getattr(module, name)).kinds) == AGREED[name].split()


def test_the_schema_is_the_namespaces() -> None:
    """The one table lists the seven namespaces and their keys as the classes declare them."""
    classes = {
        name: type(getattr(AgentContext(), name)).__name__
        for name in AGREED["AgentContext"].split()[1:]
    }
    assert {name: " ".join(keys) for name, keys in SCHEMA.items()} == {
        name: AGREED[cls] for name, cls in classes.items()
    }


def test_the_schema_describes_each_key() -> None:
    """A key says its shape and the class of its items."""
    found = {
        path: key_schema(*path.split("."))
        for path in ("reasoning.intents", "reasoning.entities", "llm.usage", "llm.model")
    }
    assert {path: (key.shape, key.item, key.path) for path, key in found.items()} == {
        "reasoning.intents": (Shape.ARRAY, Intent, "reasoning.intents"),
        "reasoning.entities": (Shape.MAP, None, "reasoning.entities"),
        "llm.usage": (Shape.OBJECT, LLMUsage, "llm.usage"),
        "llm.model": (Shape.SCALAR, None, "llm.model"),
    }


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


def test_a_new_context_is_complete() -> None:
    """A new context has its ids, its time, and default namespaces."""
    when = datetime(2026, 1, 1, tzinfo=UTC)
    ctx = AgentContext.new("s", "t", created_at=when, locale="de")
    assert (
        ctx.version,
        ctx.metadata.session_id,
        ctx.metadata.trace_id,
        ctx.metadata.created_at,
    ) == ("1.0.0", "s", "t", when)
    assert (ctx.metadata.locale, ctx.reasoning, ctx.llm.usage) == ("de", ReasoningContext(), None)
    before, made = utc_now(), AgentContext.new("s", "t").metadata.created_at
    assert before <= made <= utc_now()
    assert made.tzinfo is UTC


@given(CONTEXTS)
def test_a_clone_is_the_context_itself(ctx: AgentContext) -> None:
    """Cloning or copying a context returns the same object, since contexts are immutable."""
    assert ctx.clone() is copy.copy(ctx) is copy.deepcopy(ctx) is ctx


@given(CONTEXTS)
def test_a_context_can_be_pickled(ctx: AgentContext) -> None:
    """A context survives pickling, so that agents in other processes can have it."""
    assert pickle.loads(pickle.dumps(ctx)) == ctx  # noqa: S301  our own bytes


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


@given(st.data(), RECORDS)
def test_changed_is_evolve(data: st.DataObject, record: Any) -> None:
    """Changing fields gives what `attrs.evolve` gives, and shares every other field."""
    other = data.draw(
        st.just(type(record)()) | RECORDS.filter(lambda drawn: type(drawn) is type(record))
    )
    names = data.draw(st.sets(st.sampled_from(list(layout(type(record)).kinds))))
    attributes = layout(type(record)).attributes
    twin = with_changes(record, **{name: getattr(other, attributes[name]) for name in names})
    assert twin == attrs.evolve(
        record, **{attributes[name]: getattr(other, attributes[name]) for name in names}
    )
    assert all(
        getattr(twin, attribute) is getattr(record, attribute)
        for name, attribute in attributes.items()
        if name not in names
    )


def test_a_change_is_checked() -> None:
    """A change of an unknown field, or to a value that is not legal, is refused with its path."""
    with pytest.raises(InvalidDataError, match=r"intnts: unknown field. Use intents"):
        with_changes(ReasoningContext(), intnts=())
    with pytest.raises(InvalidDataError, match=r"intents\[0\].confidence: 2.0 is out of range"):
        with_changes(ReasoningContext(), intents=[{"confidence": 2}])
    with pytest.raises(InvalidDataError, match=r"version: '2\.0\.0' is not the version"):
        with_changes(AgentContext(), version="2.0.0")


FAULTS: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "text that is none": (Intent, {"type": 3}, "type", "int is not text"),
    "a lone surrogate": (Intent, {"type": "\ud800"}, "type", "lone surrogate U+D800"),
    "confidence above one": (
        Intent,
        {"confidence": 1.0000001},
        "confidence",
        "1.0000001 is out of range",
    ),
    "confidence below zero": (Intent, {"confidence": -0.1}, "confidence", "-0.1 is out of range"),
    "confidence not a number": (
        Intent,
        {"confidence": float("nan")},
        "confidence",
        "nan is not a number",
    ),
    "confidence as text": (Intent, {"confidence": "0.5"}, "confidence", "'0.5' is not a number"),
    "confidence as a truth value": (
        Intent,
        {"confidence": True},
        "confidence",
        "True is not a number",
    ),
    "a score outside": (
        ReasoningContext,
        {"confidence_scores": {"a": 2}},
        "confidence_scores.a",
        "2.0 is out of range",
    ),
    "a text for a list": (Intent, {"entities": "abc"}, "entities", "str is not a list"),
    "an item that is not text": (Intent, {"entities": ["a", 1]}, "entities[1]", "int is not text"),
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
    "a list for a map": (ReasoningContext, {"entities": []}, "entities", "list is not an object"),
    "a map for a list": (ReasoningContext, {"intents": {}}, "intents", "dict is not a list"),
    "a truth value for a number": (
        LLMUsage,
        {"total_tokens": True},
        "total_tokens",
        "True is not a whole number",
    ),
    "a fraction for a whole number": (
        LLMUsage,
        {"total_tokens": 1.0},
        "total_tokens",
        "1.0 is not a whole number",
    ),
    "too many bits": (LLMUsage, {"total_tokens": 2**63}, "total_tokens", "is out of range"),
    "a map of numbers with a text": (
        LLMUsage,
        {"by_agent": {"a b": "1"}},
        "by_agent['a b']",
        "'1' is not a number",
    ),
    "a number for a truth value": (
        records.ValidationReport,
        {"passed": 1},
        "passed",
        "1 is not a truth value",
    ),
    "a naive time": (
        Fact,
        {"timestamp": datetime(2026, 1, 1)},  # noqa: DTZ001
        "timestamp",
        "naive datetime",
    ),
    "a number for a time": (Fact, {"timestamp": 0}, "timestamp", "int is not text"),
    "a time out of range": (
        Fact,
        {"timestamp": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))},
        "timestamp",
        "no UTC time",
    ),
    "a date": (Fact, {"timestamp": "2026-01-01"}, "timestamp", "is without a time zone"),
    "a month that is none": (
        Fact,
        {"timestamp": "2026-13-01T10:00:00Z"},
        "timestamp",
        "is not a moment",
    ),
    "None for a text": (Intent, {"type": None}, "type", "NoneType is not text"),
    "content twice": (
        Artifact,
        {"content": 1, "external": ExternalContent("file:///a")},
        "external",
        "inline as well",
    ),
    "another version": (AgentContext, {"version": "0.9.0"}, "version", "is not the version"),
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


@pytest.mark.parametrize("value", [FrozenDict(), AgentContext().reasoning.entities, {}, None])
def test_what_is_empty_is_still_of_the_wrong_type(value: Any) -> None:
    """An empty value of the wrong type is refused, including the shared empty map."""
    with pytest.raises(InvalidDataError, match=r"intents: \w+ is not a list"):
        with_changes(ReasoningContext(), intents=value)
    with pytest.raises(InvalidDataError, match=r"intents: \w+ is not a list"):
        ReasoningContext(intents=value)


def test_any_mapping_describes_a_record() -> None:
    """A record is read from whatever is a mapping, as a guarded write may be given one."""
    assert Intent.from_json(MappingProxyType({"type": "query"})) == Intent("query")


def test_what_stands_nowhere_is_called_a_value() -> None:
    """A value that was handed in by itself has no path; the refusal says so in words."""
    with pytest.raises(
        InvalidDataError,
        match=r"^value: list is not an object. Use an object with type, confidence, entities\.$",
    ):
        Intent.from_json([])


def test_a_keyword_is_avoided_in_python_alone() -> None:
    """The field `from_` is `from` in JSON, and only there."""
    assert Relationship.from_json({"from": "a", "to": "b"}) == Relationship(from_="a", to="b")
    with pytest.raises(InvalidDataError, match=r"from_: unknown field. Use from"):
        Relationship.from_json({"from_": "a"})


def test_what_breaks_while_a_record_is_made_is_not_taken_for_an_unknown_field() -> None:
    """A TypeError from inside a record class, which is a defect, stays a TypeError."""

    @attrs.frozen
    class Broken(Record):
        one: str = ""
        other: str = ""

        def __attrs_post_init__(self) -> None:
            raise TypeError("defect")

    with pytest.raises(TypeError, match="defect"):
        Broken.from_json({})


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
