"""A context survives a round trip through JSON; invalid input raises a typed error with a path."""

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from benchmarks.fuzz_agent_context import fuzz
from polycontext.agent_context import AgentContext, deserialize, get_stats, json_schema, serialize
from polycontext.agent_context.codec import SCHEMA_FILE
from polycontext.agent_context.errors import UnknownVersionError
from polycontext.agent_context.json_text import dumps
from polycontext.agent_context.record_base import Record, layout
from polycontext.agent_context.records import Fact, Intent, ValidationReport
from polycontext.base import InvalidDataError
from polycontext.base.json_data import MAX_DEPTH
from tests.agent_context.strategies import CONTEXTS, RECORDS
from tests.house import ROOT, script

EMPTY = {
    "version": "1.0.0",
    "metadata": {"created_at": "1970-01-01T00:00:00Z"},
    **{
        name: {} for name in ("reasoning", "enrichment", "retrieval", "llm", "diagnostics", "audit")
    },
}
FIXTURE = ROOT / "tests" / "agent_context" / "fixtures" / "1.0.0.json"


@given(CONTEXTS)
def test_what_is_written_validates(ctx: AgentContext) -> None:
    """The shipped JSON Schema accepts whatever is written."""
    assert list(VALIDATOR.iter_errors(json.loads(serialize(ctx)))) == []


@given(RECORDS)
def test_a_record_comes_back_the_same(record: Record) -> None:
    """Every record class reads what is written of it."""
    assert type(record).from_json(json.loads(dumps(record))) == record


VALIDATOR = jsonschema.Draft202012Validator(
    json_schema(), format_checker=jsonschema.FormatChecker()
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"reasoning": {"intents": [{"confidence": 1.5}]}},
        {"reasoning": {"intnts": []}},
        {"version": "2.0.0"},
        {"llm": {"usage": {"total_tokens": "3"}}},
        {"diagnostics": {"performance": {"agent_metrics": {"a": {"tokens": 1.5}}}}},
    ],
)
def test_the_json_schema_refuses_what_the_decoder_refuses(wrong: dict[str, Any]) -> None:
    """Unknown fields, other types and ranges are faults for both."""
    assert not VALIDATOR.is_valid(wrong)
    with pytest.raises((InvalidDataError, UnknownVersionError)):
        deserialize(json.dumps(wrong))


def test_the_shipped_schema_is_up_to_date(tmp_path: Any) -> None:
    """The file in the package is what the record classes say now."""
    script("agent_schema").write_json_schema(tmp_path)
    assert (tmp_path / SCHEMA_FILE).read_text(encoding="utf-8") == (
        ROOT / "apps" / "agent_context" / SCHEMA_FILE
    ).read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_the_form_is_fixed() -> None:
    """Empty text, arrays, maps and null are omitted; numbers, booleans and times are not."""
    assert json.loads(serialize(AgentContext())) == EMPTY
    assert dumps(Intent()) == b'{"confidence":0.0}'
    assert dumps(Fact(id="f")) == b'{"id":"f","timestamp":"1970-01-01T00:00:00Z","confidence":0.0}'
    assert json.loads(dumps(ValidationReport())) == {
        "timestamp": "1970-01-01T00:00:00Z",
        "passed": False,
    }


FAULTS: dict[str, tuple[bytes, str, str]] = {
    "invalid UTF-8": (b'{"version":"\xff"}', "$", "not JSON"),
    "a number beyond floats": (
        b'{"reasoning":{"dependency_map":[1e999]}}',
        "$.reasoning.dependency_map[0]",
        "inf is not JSON",
    ),
    "no object": (b"[]", "$", "list is not an object"),
    "an unknown namespace": (b'{"reasonin":{}}', "$.reasonin", "unknown field. Use reasoning"),
    "an unknown field": (
        b'{"reasoning":{"intents":[{},{"sure":1}]}}',
        "$.reasoning.intents[1].sure",
        "unknown field",
    ),
    "an unknown field of a renamed record": (
        b'{"enrichment":{"relationships":[{"from_":"a"}]}}',
        "$.enrichment.relationships[0].from_",
        "unknown field",
    ),
    "null for text": (b'{"llm":{"model":null}}', "$.llm.model", "NoneType is not text"),
    "a number as text": (
        b'{"llm":{"usage":{"total_tokens":"3"}}}',
        "$.llm.usage.total_tokens",
        "'3' is not a whole number",
    ),
    "a map of records": (
        b'{"diagnostics":{"performance":{"agent_metrics":{"a":{"tokens":true}}}}}',
        "$.diagnostics.performance.agent_metrics.a.tokens",
        "True is not a whole number",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_no_context_is_refused_by_path(name: str) -> None:
    """Every fault raises one typed error with its path."""
    raw, path, problem = FAULTS[name]
    with pytest.raises(InvalidDataError) as caught:
        deserialize(raw)
    assert caught.value.path == path
    assert problem in str(caught.value)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_the_deepest_legal_document_comes_back(opening: str, closing: str) -> None:
    """The deepest document that can be read can also be written and measured."""
    raw = (
        '{"retrieval":{"queries":[{"results":'
        + opening * MAX_DEPTH
        + "1"
        + closing * MAX_DEPTH
        + "}]}}"
    )
    ctx = deserialize(raw)
    assert deserialize(serialize(ctx)) == ctx
    assert get_stats(ctx).total_size == len(serialize(ctx))


def test_the_fixture_of_the_release_is_read_and_written_alike() -> None:
    """A document of 1.0.0 that uses every field is read, and writing it loses nothing."""
    document = json.loads(FIXTURE.read_text(encoding="utf-8"))
    ctx = deserialize(FIXTURE.read_bytes())
    assert json.loads(serialize(ctx)) == document
    unused = {
        f"{type(record).__name__}.{name}"
        for record in records_in(ctx)
        for name in layout(type(record)).kinds
        if name not in json.loads(dumps(record))
    }
    assert unused == {
        "Artifact.content",
        "Artifact.external",
    }  # one artifact has the one, the second the other


def records_in(value: object) -> list[Record]:
    """Return every record in a value."""
    if isinstance(value, Record):
        return [
            value,
            *(found for item in layout(type(value)).get(value) for found in records_in(item)),
        ]
    held = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
    )
    return [found for item in held for found in records_in(item)]


def test_mutated_documents_give_typed_errors_alone() -> None:
    """Two thousand damaged documents are each read or refused with an error of polycontext."""
    report = fuzz(2_000, seed=5)
    assert report.crashes == ()
    assert report.read > 20
    assert len(report.refused) >= 2
