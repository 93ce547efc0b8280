"""The codec reads back what it writes, coerces nothing, and names the first fault by path."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum, IntEnum, StrEnum
from typing import Any, Literal

import pytest
from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError
from polycontext.base.codec import (
    json_object,
    json_value,
    reader,
    strict_converter,
    structured,
    to_text,
)
from polycontext.base.json_data import EMPTY, FrozenDict, freeze_object
from tests.base.test_json_data import JSON, STORABLE_TEXTS


class Colour(StrEnum):
    """Be written by value."""

    RED = "red"
    BLUE = "blue"


class Rank(IntEnum):
    """Be written by name."""

    LOW = 0
    HIGH = 1


class Way(Enum):
    """Be written by name, whatever the value is."""

    UP = (0, 1)


@frozen
class Inner:
    """Hold a little of everything."""

    name: str
    count: int = 0
    share: float = 0.0
    is_open: bool = False
    colour: Colour = Colour.RED
    rank: Rank | None = None
    way: Way = Way.UP
    when: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    data: Mapping[str, Any] = EMPTY
    more: FrozenDict[Any] = EMPTY


@frozen
class Outer:
    """Hold lists, tables and a name that Python keeps for itself."""

    class_: str
    items: tuple[Inner, ...] = ()
    names: list[str] = field(factory=list)
    table: Mapping[str, Inner] = field(factory=dict)


@frozen
class Circle:
    """Be a member of a union."""

    radius: int


@frozen
class Square:
    """Be another member of it."""

    side: int


Shape = Circle | Square


@frozen
class Drawing:
    """Hold members of a union."""

    shapes: tuple[Shape, ...]


CONVERTER = strict_converter(unions={Shape: "shape"})
WHOLE = strict_converter(complete=True)
SPARSE = strict_converter(sparse=(Inner,))

OBJECTS = st.dictionaries(STORABLE_TEXTS, JSON, max_size=3).map(freeze_object)
INNERS = st.builds(
    Inner,
    STORABLE_TEXTS,
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.sampled_from(Colour),
    st.none() | st.sampled_from(Rank),
    st.sampled_from(Way),
    st.datetimes(timezones=st.just(UTC)),
    OBJECTS,
    OBJECTS,
)
OUTERS = st.builds(
    Outer,
    STORABLE_TEXTS,
    st.lists(INNERS, max_size=3).map(tuple),
    st.lists(STORABLE_TEXTS, max_size=3),
    st.dictionaries(STORABLE_TEXTS, INNERS, max_size=2),
)


@pytest.mark.parametrize("converter", [CONVERTER, WHOLE, SPARSE])
@given(outer=OUTERS)
def test_what_is_written_is_read_back(converter: Any, outer: Outer) -> None:
    """Reading what was written gives an equal record, through text and without it."""
    assert structured(converter, json_object(to_text(converter, outer)), Outer) == outer
    assert structured(converter, converter.unstructure(outer), Outer) == outer


def test_the_form() -> None:
    """Enums of text are written by value, others by name, dates as ISO, `class_` as `class`."""
    outer = Outer(
        "x", (Inner("a", rank=Rank.HIGH, colour=Colour.BLUE, data=freeze_object({"k": [1]})),)
    )
    assert json.loads(to_text(CONVERTER, outer)) == {
        "class": "x",
        "items": [
            {
                "name": "a",
                "count": 0,
                "share": 0.0,
                "is_open": False,
                "colour": "blue",
                "rank": "HIGH",
                "way": "UP",
                "when": "2026-01-01T00:00:00+00:00",
                "data": {"k": [1]},
                "more": {},
            }
        ],
        "names": [],
        "table": {},
    }
    assert (
        to_text(SPARSE, outer.items[0])
        == '{"name":"a","colour":"blue","rank":"HIGH","data":{"k":[1]}}'
    )
    plain = CONVERTER.unstructure(outer)["items"][0]
    assert (type(plain["colour"]), type(plain["rank"]), type(plain["data"]["k"])) == (
        str,
        str,
        list,
    )


def test_what_is_read_is_frozen() -> None:
    """JSON data come out immutable."""
    inner = structured(CONVERTER, {"name": "a", "data": {"k": [{}]}, "more": {"k": [1]}}, Inner)
    assert (inner.data, inner.more) == (freeze_object({"k": [{}]}), freeze_object({"k": [1]}))
    assert type(inner.data) is type(inner.more) is FrozenDict


def test_a_union_is_told_by_its_tag() -> None:
    """The name of the class stands under the key that the room chose."""
    drawing = Drawing((Circle(1), Square(2)))
    assert CONVERTER.unstructure(drawing) == {
        "shapes": [{"radius": 1, "shape": "Circle"}, {"side": 2, "shape": "Square"}]
    }
    assert structured(CONVERTER, CONVERTER.unstructure(drawing), Drawing) == drawing
    assert to_text(CONVERTER, Circle(1), Shape) == '{"radius":1,"shape":"Circle"}'


def _inner(**changes: object) -> dict[str, object]:
    return {"class": "x", "items": [{"name": "a"}, {"name": "b", **changes}]}


def _drawing(shape: object) -> dict[str, object]:
    return {"shapes": [shape]}


FAULTS: dict[str, tuple[object, str, str]] = {
    "no object": ([], "$", "list is not an object"),
    "a missing field": ({}, "$.class", "is missing"),
    "an unknown field": ({"class": "x", "colour": 1}, "$.colour", "is unknown"),
    "a key that is not text": ({"class": "x", 3: 1}, "$.3", "is unknown"),
    "the name that Python has": ({"class_": "x"}, "$.class", "is missing"),
    "text for a list": ({"class": "x", "names": "abc"}, "$.names", "str is not a list"),
    "no table": ({"class": "x", "table": []}, "$.table", "list is not an object"),
    "a fault in a table": (
        {"class": "x", "table": {"a b": {"name": 1}}},
        "$.table['a b'].name",
        "int is not text",
    ),
    "no text": (_inner(name=None), "$.items[1].name", "NoneType is not text"),
    "a lone surrogate": (_inner(name="\ud800"), "$.items[1].name", "lone surrogate U+D800"),
    "a truth value for a count": (
        _inner(count=True),
        "$.items[1].count",
        "True is not a whole number",
    ),
    "a count that is not whole": (
        _inner(count=1.0),
        "$.items[1].count",
        "1.0 is not a whole number",
    ),
    "a count of 65 bits": (
        _inner(count=2**64),
        "$.items[1].count",
        "is not a whole number of 64 bits",
    ),
    "a number as text": (_inner(share="1"), "$.items[1].share", "'1' is not a number"),
    "a truth value for a number": (_inner(share=True), "$.items[1].share", "True is not a number"),
    "not a number": (_inner(share=float("nan")), "$.items[1].share", "nan is not a number"),
    "a number for a truth value": (
        _inner(is_open=1),
        "$.items[1].is_open",
        "1 is not a truth value",
    ),
    "an unknown member": (_inner(colour="RED"), "$.items[1].colour", "unknown 'RED'"),
    "a member that is not text": (_inner(colour=[]), "$.items[1].colour", "unknown list"),
    "a member by number": (_inner(rank=1), "$.items[1].rank", "unknown 1"),
    "a naive moment": (
        _inner(when="2026-01-01T00:00:00"),
        "$.items[1].when",
        "is without a time zone",
    ),
    "no moment": (_inner(when="noon"), "$.items[1].when", "'noon' is not a moment"),
    "a moment as a number": (_inner(when=0), "$.items[1].when", "int is not text"),
    "a fault in JSON data": (
        _inner(more={"a": [0, {"b": {1}}]}),
        "$.items[1].more.a[1].b",
        "set is not JSON data",
    ),
    "no tag": (_drawing({"radius": 1}), "$.shapes[0].shape", "is missing"),
    "an unknown tag": (_drawing({"shape": "Blob"}), "$.shapes[0].shape", "unknown 'Blob'"),
    "a tag that is not text": (_drawing({"shape": []}), "$.shapes[0].shape", "unknown list"),
    "a fault in the member": (
        _drawing({"shape": "Circle", "radius": "1"}),
        "$.shapes[0].radius",
        "'1' is not a whole number",
    ),
    "no object of a union": (_drawing(1), "$.shapes[0]", "int is not an object"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refused_by_path(name: str) -> None:
    """The error says where the first fault is, what it is, and what would be legal."""
    data, path, what = FAULTS[name]
    with pytest.raises(InvalidDataError) as caught:
        structured(CONVERTER, data, Drawing if "shapes" in str(data) else Outer)
    assert caught.value.path == path
    assert what in caught.value.what
    assert caught.value.legal


def test_a_complete_record_needs_its_defaults_too() -> None:
    """Where a converter is complete, a field at its default may not be missing."""
    with pytest.raises(
        InvalidDataError, match=r"^\$\.count: is missing. Use an object with name, count"
    ):
        structured(WHOLE, {"name": "a"}, Inner)


@frozen
class Stamped:
    """Say what it is and which version of it."""

    schema: Literal["stamp"]
    version: Literal[1, 2]


def test_a_literal_is_compared_with_its_type() -> None:
    """One of the values that are legal passes; what is merely equal to one does not."""
    assert structured(CONVERTER, {"schema": "stamp", "version": 2}, Stamped) == Stamped("stamp", 2)
    for version in (3, True, 1.0, "1", [1]):
        with pytest.raises(InvalidDataError, match=r"^\$\.version: .* cannot be read. Use 1, 2\.$"):
            structured(CONVERTER, {"schema": "stamp", "version": version}, Stamped)


@frozen
class Picky:
    """Refuse by itself."""

    name: str

    def __attrs_post_init__(self) -> None:
        if self.name == "own":
            raise InvalidDataError("name", "is taken", "another name")
        if self.name == "other":
            raise ValueError("no such luck")
        if self.name == "silent":
            raise ValueError


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a", "own"], "$[1].name: is taken. Use another name."),
        (["other"], "$[0]: no such luck. Use what we wrote."),
        (["silent"], "$[0]: ValueError. Use what we wrote."),
    ],
)
def test_what_a_record_refuses_by_itself_is_named_too(names: list[str], said: str) -> None:
    """An error with facts keeps them under its path, and any other error shows its own text."""
    data = [{"name": name} for name in names]
    with pytest.raises(InvalidDataError) as caught:
        structured(CONVERTER, data, tuple[Picky, ...], legal="what we wrote")
    assert str(caught.value) == said
    with pytest.raises(InvalidDataError, match=r"^\$: .* Use the fields of Picky\.$"):
        structured(CONVERTER, {"name": "silent"}, Picky)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", b"\xff", '{"a": NaN}', '"\\ud800"', "[" * 2000, None, 1]
)
def test_what_is_no_json_object_is_refused(text: Any) -> None:
    """Text that is no JSON, or another value than an object, is one kind of error."""
    with pytest.raises(InvalidDataError, match=r"^\$: .*. Use the text of a JSON object\.$"):
        json_object(text)


def test_an_immutable_value_is_read_as_itself() -> None:
    """Tuples and frozen maps that hold what they should are returned, and others frozen."""
    converter = strict_converter(immutable=True)
    names, counts = ("a", "é"), FrozenDict({"a": 1})
    table: Any = Mapping[str, int]
    assert structured(converter, names, tuple[str, ...]) is names
    assert structured(converter, counts, table) is counts
    assert structured(converter, [*names], tuple[str, ...]) == names
    assert type(structured(converter, {"a": 1}, table)) is FrozenDict
    assert structured(converter, {}, table) is EMPTY
    with pytest.raises(InvalidDataError, match=r"\$\[1\]: int is not text"):
        structured(converter, ("a", 1), tuple[str, ...])
    assert type(structured(strict_converter(), {"a": 1}, table)) is dict


def test_a_reader_reads_many_values_of_one_type() -> None:
    """It names its path, and returns its default unread."""
    nothing = object()
    read = reader(CONVERTER, tuple[int, ...], "numbers", default=nothing)
    assert (read([1, 2]), read(nothing)) == ((1, 2), nothing)
    with pytest.raises(InvalidDataError, match=r"^numbers\[1\]: 'a' is not a whole number"):
        read([1, "a"])


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' occurs twice"),
        ("[NaN]", "not JSON"),
        ('"\\ud800"', "surrogates not allowed"),
        (b'"\xff"', "not JSON"),
        ("[" * 100_000, "not JSON"),
        (3, "int is not JSON text"),
    ],
)
def test_json_text_loses_nothing(raw: object, problem: str) -> None:
    """What a reader would silently change is refused."""
    with pytest.raises(InvalidDataError, match=problem):
        json_value(raw)


def test_integers_of_json_text_are_exact() -> None:
    """However large they are, and however the text is written."""
    assert json_value(f'{{"a":[{2**70}]}}') == {"a": [2**70]}
    assert json_value(' {"a" : 1} ') == json_value(bytearray(b'{"a":1}')) == {"a": 1}
