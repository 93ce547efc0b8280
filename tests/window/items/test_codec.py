"""Items as JSON: what we write the schema accepts, what the schema accepts comes back."""

import json
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft7Validator

from polycontext.base import InvalidDataError
from polycontext.window import ItemType
from polycontext.window.items import (
    ContextItem,
    item_from_dict,
    item_from_json,
    item_schema,
    item_to_dict,
    item_to_json,
)
from tests.window.items.samples import items, seed_item

pytestmark = pytest.mark.filterwarnings("ignore::polycontext.window.items.MetadataWarning")

SCHEMA = Draft7Validator(dict(item_schema()))
DOCUMENT = {
    "id": "ctx-1",
    "type": "code",
    "content": "x",
    "metadata": None,
    "timestamp": 3910982400,
}


@given(items())
def test_what_is_written_validates_and_comes_back(item: ContextItem) -> None:
    """The law of the codec, as data and as text."""
    SCHEMA.validate(item_to_dict(item))
    assert item_from_dict(item_to_dict(item)) == item
    assert item_from_json(item_to_json(item)) == item
    assert item_from_json(item_to_json(item).encode()) == item


def test_whole_numbers_may_have_a_point() -> None:
    """JSON has one kind of numbers, so 5.0 is a line, and so is a time."""
    told = {**DOCUMENT, "timestamp": 3910982400.0, "metadata": {"start_line": 5.0}}
    SCHEMA.validate(told)
    assert item_to_dict(item_from_dict(told)) == told


def test_the_shape_is_the_seeds() -> None:
    """Ids and types as text, the timestamp as Universal Time."""
    assert json.loads(item_to_json(seed_item(id="ctx-1", timestamp=3910982400))) == {
        "id": "ctx-1",
        "type": "code",
        "content": "(defun add (a b) (+ a b))",
        "metadata": {"filename": "math.lisp", "start_line": 5, "end_line": 7},
        "timestamp": 3910982400,
    }


def test_the_shipped_schema_is_the_seeds() -> None:
    """A draft-07 schema with the properties of an item, closed but for the metadata."""
    Draft7Validator.check_schema(dict(item_schema()))
    assert item_schema()["title"] == "Context Item"
    assert item_schema()["required"] == ["id", "type", "content", "timestamp"]
    assert item_schema()["additionalProperties"] is False
    assert item_schema()["properties"]["type"]["enum"] == [str(kind) for kind in ItemType]
    assert item_schema()["properties"]["metadata"]["additionalProperties"] is True


WRONG: dict[str, tuple[Any, str, str]] = {
    "a list": ([], "$", "list is not an object"),
    "nothing": ({}, "$.id", "is missing"),
    "no timestamp": (
        {key: DOCUMENT[key] for key in ("id", "type", "content")},
        "$.timestamp",
        "is missing",
    ),
    "a key too many": (DOCUMENT | {"package": "x"}, "$.package", "is unknown"),
    "another id": (DOCUMENT | {"id": "ctx-"}, "$.id", "not an id"),
    "another type": (DOCUMENT | {"type": "poem"}, "$.type", "unknown 'poem'"),
    "a type that is not text": (DOCUMENT | {"type": {"code": 1}}, "$.type", "unknown dict"),
    "content null": (DOCUMENT | {"content": None}, "$.content", "NoneType is not text"),
    "metadata as a list": (DOCUMENT | {"metadata": []}, "$.metadata", "list is not an object"),
    "a truth for a line": (
        DOCUMENT | {"metadata": {"start_line": True}},
        "$.metadata.start_line",
        "True is not a valid start_line",
    ),
    "line null": (
        DOCUMENT | {"metadata": {"end_line": None}},
        "$.metadata.end_line",
        "None is not a valid end_line",
    ),
    "line zero": (
        DOCUMENT | {"metadata": {"end_line": 0}},
        "$.metadata.end_line",
        "0 is not a valid end_line",
    ),
    "half a line": (
        DOCUMENT | {"metadata": {"end_line": 1.5}},
        "$.metadata.end_line",
        "1.5 is not a valid end_line",
    ),
    "file name null": (
        DOCUMENT | {"metadata": {"filename": None}},
        "$.metadata.filename",
        "None is not a valid filename",
    ),
    "timestamp as text": (
        DOCUMENT | {"timestamp": "now"},
        "$.timestamp",
        "'now' is not a whole number",
    ),
    "timestamp as a truth": (
        DOCUMENT | {"timestamp": True},
        "$.timestamp",
        "True is not a whole number",
    ),
    "a timestamp before 1900": (DOCUMENT | {"timestamp": -1}, "$.timestamp", "-1 is not a time"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_the_schema_refuses_is_refused_by_path(name: str) -> None:
    """The path names the first fault; the schema agrees that there is one."""
    data, path, problem = WRONG[name]
    assert not SCHEMA.is_valid(data)
    with pytest.raises(InvalidDataError) as caught:
        item_from_dict(data)
    assert caught.value.path == path
    assert problem in caught.value.what
    assert str(caught.value) == f"{path}: {caught.value.what}. Use {caught.value.legal}."


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"id": NaN}', '"\ud800"', "[" * 100_000, "1" * 5000, b"\xff\xfe\xff"],
    ids=["empty", "torn", "nan", "surrogate", "deep", "long number", "no utf-8"],
)
def test_text_that_is_no_item_is_refused(text: str | bytes) -> None:
    """Whatever is wrong with the text, the error is ours."""
    with pytest.raises(InvalidDataError) as caught:
        item_from_json(text)
    assert (caught.value.path, caught.value.legal) == ("$", "what item_to_json returned")
