"""A ledger goes to JSON and comes back the same; whatever is not a ledger is refused by path."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from polycontext.base import InvalidDataError
from polycontext.linearity import LinearityMap, ResourceClass

DROPPABLE, REQUIRED, PRESERVED = ResourceClass
NEVER = "1970-01-01T00:00:00+00:00"


def written() -> dict[str, Any]:
    """Return the data of a ledger with two tags, a promotion and a drop."""
    ledger = LinearityMap().tag("a", DROPPABLE, provenance="default").tag("b", DROPPABLE)
    return ledger.drop("a").promote("b", PRESERVED, rationale="why").to_json()


def test_the_form_is_fixed() -> None:
    """The written form is fixed: class names, ISO dates, a schema and its version."""
    assert written() == {
        "schema": "polycontext.linearity",
        "version": 1,
        "promotions": 1,
        "drops": 1,
        "tags": [
            {
                "id": "a",
                "class": "DROPPABLE",
                "provenance": "default",
                "rationale": "",
                "when": NEVER,
                "pinned": False,
            },
            {
                "id": "b",
                "class": "PRESERVED",
                "provenance": "",
                "rationale": "why",
                "when": NEVER,
                "pinned": True,
            },
        ],
    }


def test_a_restored_ledger_can_be_derived_from() -> None:
    """Loading gives a ledger like any other, still raising only."""
    ledger = LinearityMap.from_json(written())
    assert ledger.tag("c", REQUIRED).promote("a", REQUIRED).stats().promotions == 2
    assert json.loads(json.dumps(ledger.to_json())) == written()


def test_a_moment_of_another_zone_is_read_as_utc() -> None:
    """A hand-written moment with another offset is the same moment."""
    data = written()
    data["tags"][0]["when"] = "2026-01-01T02:00:00+02:00"
    assert LinearityMap.from_json(data).to_json()["tags"][0]["when"] == "2026-01-01T00:00:00+00:00"


def _tag(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["tags"][1].update({key: value})


FAULTS: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "another schema": ("$.schema", lambda data: data.update(schema="other")),
    "a newer version": ("$.version", lambda data: data.update(version=2)),
    "a version as text": ("$.version", lambda data: data.update(version="1")),
    "a version as a truth value": ("$.version", lambda data: data.update(version=True)),
    "a missing field": ("$.drops", lambda data: data.pop("drops")),
    "an unknown field": ("$.extra", lambda data: data.update(extra=1)),
    "tags that are no list": ("$.tags", lambda data: data.update(tags={})),
    "a tag that is no object": ("$.tags[1]", lambda data: data["tags"].__setitem__(1, "b")),
    "a tag without a class": ("$.tags[1].class", lambda data: data["tags"][1].pop("class")),
    "a tag with another field": ("$.tags[1].colour", _tag("colour", "red")),
    "a class by number": ("$.tags[1].class", _tag("class", 2)),
    "an unknown class": ("$.tags[1].class", _tag("class", "PRECIOUS")),
    "an empty id": ("$.tags[1].id", _tag("id", "")),
    "a repeated id": ("$.tags[1].id", _tag("id", "a")),
    "an id that is not text": ("$.tags[1].id", _tag("id", 7)),
    "a lone surrogate": ("$.tags[1].rationale", _tag("rationale", "\ud800")),
    "a rationale that is null": ("$.tags[1].rationale", _tag("rationale", None)),
    "a naive moment": ("$.tags[1].when", _tag("when", "2026-01-01T00:00:00")),
    "a moment that is none": ("$.tags[1].when", _tag("when", "yesterday")),
    "a moment as a number": ("$.tags[1].when", _tag("when", 0)),
    "a negative counter": ("$.drops", lambda data: data.update(drops=-1)),
    "a counter as text": ("$.drops", lambda data: data.update(drops="1")),
    "a counter as a truth value": ("$.drops", lambda data: data.update(drops=True)),
    "more promotions than classes allow": ("$.promotions", lambda data: data.update(promotions=3)),
    "drops where nothing was ever droppable": (
        "$.drops",
        lambda data: data.update(tags=data["tags"][1:], promotions=0),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refused_by_path(name: str) -> None:
    """The error says where, what, and what would be legal."""
    path, spoil = FAULTS[name]
    data = written()
    spoil(data)
    with pytest.raises(InvalidDataError) as caught:
        LinearityMap.from_json(data)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")
    assert ". Use " in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_missing_and_unknown_fields_are_told_apart() -> None:
    """The error says whether a field is to be added or to be removed."""
    data = written()
    with pytest.raises(
        InvalidDataError, match=r"^\$\.extra: is unknown. Use an object with schema, version"
    ):
        LinearityMap.from_json({**data, "extra": 1})
    with pytest.raises(
        InvalidDataError, match=r"^\$\.drops: is missing. Use an object with schema, version"
    ):
        LinearityMap.from_json({key: value for key, value in data.items() if key != "drops"})


@pytest.mark.parametrize(
    ("counter", "value", "legal"),
    [("promotions", 3, "0..2"), ("promotions", -1, "0..2"), ("drops", -1, "a whole number from 0")],
)
def test_a_counter_that_cannot_be_names_its_bounds(counter: str, value: int, legal: str) -> None:
    """Promotions are bounded by the number of classes, and drops only by droppable resources."""
    with pytest.raises(InvalidDataError) as caught:
        LinearityMap.from_json({**written(), counter: value})
    assert (caught.value.path, caught.value.legal) == (f"$.{counter}", legal)


@pytest.mark.parametrize("data", [None, [], "{}", 1, b"{}"])
def test_data_that_is_no_object_is_refused(data: object) -> None:
    """The root has a path too."""
    with pytest.raises(InvalidDataError, match=r"^\$: \w+ is not an object"):
        LinearityMap.from_json(data)
