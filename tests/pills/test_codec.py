"""Pills as JSON: their schema accepts what we write, and what it accepts we read."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, ValidationError

from polycontext.base import InvalidDataError
from polycontext.pills import PillDocument, document_from_json, document_to_json
from polycontext.pills.codec import pill_from_json, pill_schema, pill_to_json
from polycontext.pills.pill import Pill, PillType, TextProperties

LOST = st.builds(
    TextProperties,
    pill=st.none() | st.text(),
    face=st.none() | st.text(),
    rear_nonsticky=st.none() | st.booleans(),
    keymap=st.none() | st.text(),
)
NAMES = st.from_regex(r"[a-z*/.-]{1,12}", fullmatch=True)
PILLS = st.builds(Pill, NAMES, st.sampled_from(PillType), st.integers(0, 99)) | st.builds(
    Pill, NAMES, text_properties=LOST
)


def check(value: Any) -> None:
    """Raise `ValidationError` unless the schema accepts `value`."""
    Draft7Validator(pill_schema()).validate(value)


def test_the_schema_is_the_seed_s() -> None:
    """Its title, fields and requirements are those of the contract."""
    schema = pill_schema()
    Draft7Validator.check_schema(schema)
    assert (schema["title"], schema["required"]) == ("Context Pill", ["name", "type"])
    assert list(schema["properties"]) == ["name", "type", "text_properties", "content"]
    assert list(schema["properties"]["text_properties"]["properties"]) == [
        "pill",
        "face",
        "rear_nonsticky",
        "keymap",
    ]
    assert schema["properties"]["type"]["enum"] == list(PillType)


@given(PILLS, st.none() | st.text())
def test_a_pill_survives_json_and_pleases_the_schema(pill: Pill, content: str | None) -> None:
    """Sound or with lost properties, with content or without."""
    data = pill_to_json(pill, content)
    check(data)
    assert pill_from_json(data, pill.start) == pill


def test_a_pill_without_properties_is_read_and_repaired() -> None:
    """The schema requires name and type alone."""
    pill = pill_from_json({"name": "a", "type": "symbol", "more": 1})
    assert not pill.is_sound
    assert PillDocument("[@a]", [pill]).repair().pills == (Pill("a", PillType.SYMBOL),)


FAULTS = json.loads(Path(__file__).with_name("faults.json").read_text())


@pytest.mark.parametrize(("data", "place"), FAULTS["pill"])
def test_what_the_schema_refuses_is_refused_with_its_place(data: Any, place: str) -> None:
    """Both agree, and the error says where and what would be legal."""
    with pytest.raises(ValidationError):
        check(data)
    with pytest.raises(InvalidDataError) as caught:
        pill_from_json(data)
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    ("data", "place"),
    FAULTS["document"],
)
def test_what_is_no_document_is_refused_with_its_place(data: Any, place: str) -> None:
    """The error names the pill and the field."""
    with pytest.raises(InvalidDataError) as caught:
        document_from_json(data)
    assert str(caught.value).startswith(place)


def test_a_damaged_document_is_recovered_when_it_is_asked_for() -> None:
    """On request a damaged document is recovered from its text; invalid pills are still refused."""
    data: dict[str, Any] = {
        "text": "🙂 [@a] and [@b]",
        "pills": [
            {"name": "a", "type": "symbol", "start": 3, "text_properties": {"face": "plain"}},
            {"name": "b", "type": "buffer"},
            {"name": "a", "type": "file", "start": 2},
            {"name": "gone", "type": "file", "start": 0},
        ],
    }
    with pytest.raises(InvalidDataError):
        document_from_json(data)
    recovered = document_from_json(data, recover=True)
    assert recovered.pills == (Pill("a", PillType.SYMBOL, 2), Pill("b", PillType.BUFFER, 11))
    assert document_from_json(document_to_json(recovered), recover=True) == recovered
    for broken in ({"name": "a", "start": 0}, {"name": "a", "type": "file", "start": "2"}, "a"):
        with pytest.raises(InvalidDataError, match=r"^\$\.pills\[0\]"):
            document_from_json({"text": "[@a]", "pills": [broken]}, recover=True)
