"""The memory as JSON: byte-identical both ways, and strict about what it reads."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from attrs import fields
from hypothesis import given

from polycontext.base import InvalidDataError
from polycontext.base.json_data import INTEGERS, MAX_DEPTH, freeze
from polycontext.nodes.entities import SessionIdRegistry
from polycontext.nodes.memory import ConversationContext, CurrentTurn
from tests.nodes.memory.records import kitchen, memories


@given(memories())
def test_the_round_trip_is_byte_identical(memory: ConversationContext) -> None:
    """Whatever is remembered, reading what was written gives the same memory and the same text."""
    again = ConversationContext.from_json(memory.to_json())
    assert again == memory
    assert again.to_json() == memory.to_json()


@given(memories())
def test_data_are_what_the_text_says(memory: ConversationContext) -> None:
    """The data equal the JSON text and restore an equal memory, also when frozen."""
    data = memory.to_data()
    assert json.loads(memory.to_json()) == data
    assert ConversationContext.from_data(data) == memory
    assert ConversationContext.from_data(freeze(data)) == memory


def test_data_belong_to_the_caller() -> None:
    """Changing the data after writing or reading does not change the memory."""
    lived = kitchen(3)
    registry, _ = SessionIdRegistry().read(
        "recipes", "a1", "Soup", turn=1, data={"steps": ["Boil."]}
    )
    memory = lived.conversation.with_registry(registry)
    written, data = memory.to_json(), memory.to_data()
    again, turn, turn_data = (
        ConversationContext.from_data(data),
        lived.turn.to_json(),
        lived.turn.to_data(),
    )
    _spoil(data)
    _spoil(turn_data)
    assert memory.to_json() == again.to_json() == written
    assert lived.turn.to_json() == turn


def _spoil(value: Any) -> None:
    if isinstance(value, dict | list):
        for inner in list(value.values() if isinstance(value, dict) else value):
            _spoil(inner)
        value.clear()


@pytest.mark.parametrize(
    ("put", "what"),
    [
        (float("nan"), "nan is not JSON data"),
        ({1: 2}, "a key is int, not text"),
        (object(), "object is not JSON data"),
        (1 << 70, "an integer"),
    ],
)
def test_data_that_are_no_json_are_refused_with_their_path(put: Any, what: str) -> None:
    """Data that never were text are judged as strictly as text is."""
    data = kitchen(3).conversation.to_data()
    data["content_archive"]["entries"][0]["content"] = {"found": [put]}
    with pytest.raises(InvalidDataError, match=what) as refused:
        ConversationContext.from_data(data)
    assert refused.value.path.startswith("$.content_archive.entries[0].content.found[0]")


def test_what_the_archive_takes_the_codec_takes() -> None:
    """The deepest content and the largest number of an archive survive a round trip."""
    deep: list[Any] = [INTEGERS.stop - 1]
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    memory = ConversationContext().archive("deep", deep)
    assert (
        ConversationContext.from_json(memory.to_json())
        == ConversationContext.from_data(memory.to_data())
        == memory
    )
    with pytest.raises(InvalidDataError, match="nested too deep"):
        memory.archive("deeper", [deep])


@pytest.mark.parametrize("kind", [ConversationContext, CurrentTurn])
@pytest.mark.parametrize("data", [None, [], "{}", {}, {"schema": 1.0}])
def test_what_is_no_data_of_a_record_is_refused(
    kind: type[ConversationContext | CurrentTurn], data: Any
) -> None:
    """Nothing is filled in for data that are another thing, or of no schema."""
    with pytest.raises(
        InvalidDataError, match=r"^\$(\.schema)?: .*. Use (what \w+\.to_data returned|1)"
    ):
        kind.from_data(data)


def test_a_fault_of_the_registry_is_named_where_it_stands_in_the_memory() -> None:
    """The path leads from the memory through the registry of entities to the fault."""
    registry, _ = SessionIdRegistry().read("recipes", "a1", "Soup", turn=1)
    data = ConversationContext().with_registry(registry).to_data()
    data["id_registry"]["entities"][0]["snapshot"]["label"] = 3
    with pytest.raises(
        InvalidDataError, match=r"^\$\.id_registry\.entities\[0\]\.snapshot\.label: int is not text"
    ):
        ConversationContext.from_data(data)


def test_the_registry_of_entities_travels_along() -> None:
    """Refs and ids are there after a round trip."""
    registry, ref = SessionIdRegistry().read("recipes", "a1", "Soup", turn=1)
    again = ConversationContext.from_json(ConversationContext().with_registry(registry).to_json())
    assert again.id_registry.id_of(ref) == "a1"


def test_every_field_is_written_beside_the_schema() -> None:
    """A field that is added later cannot be forgotten by the codec."""
    written = json.loads(kitchen(1).conversation.to_json())
    assert written.pop("schema") == 1
    assert list(written) == [attribute.name for attribute in fields(ConversationContext)]


def _at(*path: str | int, put: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = put

    return change


def _without(*path: str | int) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "path", "problem"),
    [
        (_at("schema", put=2), r"\$.schema", "schema 2 is unknown"),
        (_at("schema", put=True), r"\$.schema", "schema True is unknown"),
        (_without("schema"), r"\$.schema", "schema None is unknown"),
        (_without("engagement"), r"\$.engagement", "is missing"),
        (_at("mood", put=1), r"\$.mood", "is unknown"),
        (_without("recent_turns", 0, "user"), r"\$.recent_turns\[0\].user", "is missing"),
        (_at("recent_turns", 1, "user", put=3), r"\$.recent_turns\[1\].user", "int is not text"),
        (
            _at("recent_turns", 1, "timestamp", put="now"),
            r"\$.recent_turns\[1\].timestamp",
            "'now' is not a time. Use empty, or",
        ),
        (_at("recent_turns", put={}), r"\$.recent_turns", "dict is not a list"),
        (
            _at("recent_turns", 0, "routing", put=[]),
            r"\$.recent_turns\[0\].routing",
            "list is not an object",
        ),
        (
            _at("pending", "type", put="demand"),
            r"\$.pending.type",
            "unknown 'demand'. Use propose, clarify, ask_user",
        ),
        (_at("pending", "type", put=["propose"]), r"\$.pending.type", "unknown list"),
        (_at("turn_summaries", 0, put=3), r"\$.turn_summaries\[0\]", "int is not an object"),
        (
            _at("turn_summaries", 0, "steps", 0, "step_num", put="1"),
            r"\$.turn_summaries\[0\].steps\[0\].step_num",
            "'1' is not a whole number",
        ),
        (
            _at("turn_summaries", 0, "entity_curation", "reasons", put=[]),
            r"\$.turn_summaries\[0\].entity_curation.reasons",
            "list is not an object",
        ),
        (
            _at("history", "bound", put=1),
            r"\$.history.bound",
            "1 is not a valid number. Use a whole number from 64",
        ),
        (
            _at("id_registry", put=[]),
            r"\$.id_registry",
            "list is not an object. Use what to_dict returned",
        ),
        (
            _at("content_archive", "entries", put="x"),
            r"\$.content_archive.entries",
            "str is not a list",
        ),
    ],
)
def test_what_is_no_memory_is_refused_with_its_path(
    change: Callable[[Any], None], path: str, problem: str
) -> None:
    """A wrong, missing or unknown field is named, and nothing is filled in for what was lost."""
    data = json.loads(kitchen(3).conversation.to_json())
    change(data)
    with pytest.raises(InvalidDataError, match=rf"^{path}: (?=.*. Use .){problem}"):
        ConversationContext.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "problem"), [("", "not JSON"), ("[]", "list is not an object"), (b"\xff", "not JSON")]
)
def test_what_is_no_object_is_refused(text: str | bytes, problem: str) -> None:
    """Broken text and other JSON are refused at the root."""
    with pytest.raises(InvalidDataError, match=rf"\$: {problem}"):
        ConversationContext.from_json(text)


def test_a_memory_takes_tuples_only() -> None:
    """A list, which somebody could change from outside, is refused by the name of its field."""
    with pytest.raises(InvalidDataError, match=r"^turn_summaries: list is not a tuple"):
        ConversationContext(turn_summaries=[])  # type: ignore[arg-type]
