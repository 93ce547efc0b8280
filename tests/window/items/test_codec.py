"""Items as JSON: what we write the schema accepts, what the schema accepts comes back."""

import json
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft7Validator

from polycontext.base import InvalidDataError
from polycontext.window.items import (
    ContextItem,
    item_from_dict,
    item_from_json,
    item_schema,
    item_to_dict,
    item_to_json,
)
from tests.window.items.samples import TABLES, items, seed_item

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


@pytest.mark.parametrize("row", TABLES["wrong"], ids=itemgetter("name"))
def test_what_the_schema_refuses_is_refused_by_path(row: dict[str, Any]) -> None:
    """The path names the first fault; the schema agrees that there is one."""
    data = row["document"] if "document" in row else DOCUMENT | row["change"]
    assert not SCHEMA.is_valid(data)
    with pytest.raises(InvalidDataError) as caught:
        item_from_dict(data)
    error = caught.value
    assert error.path == row["path"]
    assert row["problem"] in error.what
    assert str(error) == f"{error.path}: {error.what}. Use {error.legal}."


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
