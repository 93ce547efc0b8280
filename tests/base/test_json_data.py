"""JSON data are validated once and frozen.

Every writer can write accepted data, they are read back exactly, and they cannot change.
"""

import copy
import json
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError
from polycontext.base.json_data import (
    INTEGERS,
    MAX_DEPTH,
    STORABLE,
    FrozenDict,
    check_text,
    copy_json,
    freeze,
    freeze_object,
    thaw,
)

STORABLE_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(INTEGERS.start, INTEGERS.stop - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | STORABLE_TEXTS
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STORABLE_TEXTS, inner, max_size=4),
    max_leaves=20,
)
ANYTHING = st.recursive(
    SCALARS
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=3)
    | st.binary(max_size=3)
    | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(st.characters(), max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)


def is_frozen(value: object) -> bool:
    """Tell whether nothing in JSON data can be changed."""
    if type(value) is FrozenDict:
        return all(map(is_frozen, value.values()))
    return (
        all(map(is_frozen, value))
        if type(value) is tuple
        else value is None or type(value) in (bool, str, int, float)
    )


def nested(levels: int, make: Any) -> Any:
    """Return `levels` objects or lists in one another."""
    value: Any = 1
    for _ in range(levels):
        value = make(value)
    return value


@given(JSON)
def test_thawing_gives_back_what_was_frozen(value: Any) -> None:
    """At every depth; what is frozen is its own copy, so that versions share common parts."""
    frozen = freeze(value)
    assert is_frozen(frozen)
    assert thaw(frozen) == value == copy_json(value) == copy_json(frozen)
    assert json.dumps(thaw(frozen)) == json.dumps(value) == json.dumps(copy_json(value))
    assert freeze(frozen) is copy.copy(frozen) is copy.deepcopy(frozen) is frozen


@given(ANYTHING)
def test_no_writer_fails_on_what_was_taken(value: Any) -> None:
    """Every accepted value is written and read back by json and orjson, and others are refused."""
    try:
        plain = thaw(freeze(value))
    except InvalidDataError as error:
        assert str(error).encode()
        return
    assert (
        json.loads(json.dumps(plain))
        == orjson.loads(orjson.dumps(plain))
        == plain
        == copy_json(value)
    )
    assert orjson.loads(orjson.dumps(freeze(value), default=thaw)) == plain


@given(JSON)
def test_what_is_frozen_can_be_pickled_and_hashed(value: Any) -> None:
    """Frozen data can be pickled, and hash by value."""
    frozen = freeze({"a": value})
    again = pickle.loads(pickle.dumps(frozen))  # noqa: S301  our own bytes
    assert again == frozen
    assert hash(again) == hash(frozen)


def test_the_giver_keeps_no_handle() -> None:
    """Later changes to the input do not change frozen data or copies made of it."""
    inner = {"x": [1]}
    given_map = {"a": inner}
    frozen, mine = freeze(MappingProxyType(given_map)), copy_json(MappingProxyType(given_map))
    inner["x"].append(2)
    given_map["b"] = {}
    assert frozen == {"a": {"x": (1,)}}
    assert mine == {"a": {"x": [1]}}


def test_a_frozen_dict_cannot_be_changed() -> None:
    """No item and no attribute can be set, deleted or added."""
    frozen: Any = FrozenDict({"a": 1})
    for change in (
        lambda: frozen.__setitem__("a", 2),
        lambda: frozen.__delitem__("a"),
        lambda: frozen.update(a=2),
        lambda: setattr(frozen, "_items", {}),
        lambda: delattr(frozen, "_items"),
        lambda: setattr(frozen, "other", 1),
        lambda: frozen.items().mapping.update(a=2),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    assert frozen == {"a": 1}


def test_a_frozen_dict_is_a_mapping() -> None:
    """It reads and compares like any mapping, in the order in which it was given."""
    plain = {"b": 1, "a": 2}
    frozen = FrozenDict(plain)
    assert [*frozen.items()] == [*plain.items()]
    assert (frozen["a"], frozen.get("c", 3), "a" in frozen, "c" in frozen) == (2, 3, True, False)
    assert (len(frozen), repr(frozen)) == (2, repr(plain))
    assert plain == frozen == FrozenDict({"a": 2, "b": 1}) == MappingProxyType(plain)
    assert frozen == OrderedDict(a=2, b=1)
    assert frozen not in ({"a": 2}, [*plain.items()])
    assert isinstance(frozen, Mapping)
    assert {**frozen} == frozen.plain() == plain


SURROGATE = "lone surrogate U+D800 at character 1"
FAULTS: dict[str, tuple[object, str, str]] = {
    "another type": ({"a": [1, {2}]}, "metadata.a[1]", "set is not JSON data"),
    "bytes": (b"a", "metadata", "bytes is not JSON data"),
    "a key that is not text": ({"a": {1: 2}}, "metadata.a['int key']", "a key is int, not text"),
    "a lone surrogate": ({"a": [{"b": "x\ud800"}]}, "metadata.a[0].b", SURROGATE),
    "a lone surrogate in a key": ({"x\ud800": 1}, "metadata['x\\ud800']", SURROGATE),
    "infinity": ([float("inf")], "metadata[0]", "inf is not JSON data"),
    "an integer over 64 bits": ([0, 2**64], "metadata[1]", "an integer of 65 bits"),
    "not a number": ({"a b": float("nan")}, "metadata['a b']", "nan is not JSON data"),
}


@pytest.mark.parametrize("judge", [freeze, copy_json])
@pytest.mark.parametrize("name", FAULTS)
def test_what_json_cannot_hold_is_refused(name: str, judge: Any) -> None:
    """A value that JSON cannot hold is refused with its path, its type and the legal types."""
    value, path, what = FAULTS[name]
    with pytest.raises(InvalidDataError) as caught:
        judge(value, "metadata")
    assert (caught.value.path, caught.value.what) == (path, what)
    assert caught.value.legal
    assert str(caught.value).isascii()


def test_integers_are_those_that_every_reader_keeps() -> None:
    """The first and last legal integers are accepted, and one beyond either end is refused."""
    ends = [INTEGERS.start, INTEGERS.stop - 1]
    assert ends == [-(2**63), 2**64 - 1]
    assert orjson.loads(orjson.dumps(freeze(ends))) == ends
    for beyond in (INTEGERS.start - 1, INTEGERS.stop):
        with pytest.raises(InvalidDataError, match=r"Use -2\*\*63\.\.2\*\*64 - 1\.$"):
            freeze(beyond)
        with pytest.raises(TypeError):
            orjson.dumps(beyond)


@pytest.mark.parametrize("judge", [freeze, copy_json])
@pytest.mark.parametrize(
    "wrap", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {"a": inner}]
)
def test_depth_is_bounded(wrap: Any, judge: Any) -> None:
    """The deepest legal nesting is taken and written, one level more is refused."""
    deepest = nested(MAX_DEPTH, wrap)
    assert orjson.dumps(thaw(judge(deepest)))
    with pytest.raises(
        InvalidDataError, match=f"nested too deep, or in itself. Use at most {MAX_DEPTH} levels"
    ):
        judge(wrap(deepest))


@pytest.mark.parametrize("judge", [freeze, copy_json])
def test_what_is_endless_is_refused(judge: Any) -> None:
    """A value that contains itself, or has a million levels, is refused as too deep."""
    loop: list[Any] = []
    loop += [loop, loop]
    ring: dict[str, Any] = {}
    ring["a"] = [ring]
    tower = nested(1_000_000, lambda inner: [inner])
    for value in (loop, ring, tower):
        with pytest.raises(InvalidDataError, match="nested too deep"):
            judge(value)
    while tower != 1:  # taken down by hand: freed at once it would take the stack with it
        tower = tower[0]


class Loud(str):
    """Be a text with a type of its own."""

    __slots__ = ()


class Colour(StrEnum):
    """Be a text that is a member."""

    RED = "red"


class Rank(IntEnum):
    """Be a number that is a member."""

    HIGH = 3


class Share(float):
    """Be a number with a type of its own."""


def test_subclasses_of_text_and_numbers_become_plain() -> None:
    """A value of a subclass, which might carry state of its own, is stored as the plain value."""
    frozen = freeze([Loud("ä"), Loud("a"), Colour.RED, Rank.HIGH, Share(0.5), True, {Loud("k"): 1}])
    assert [type(item) for item in frozen] == [str, str, str, int, float, bool, FrozenDict]
    assert frozen == ("ä", "a", "red", 3, 0.5, True, {"k": 1})
    assert type(next(iter(frozen[-1]))) is str


@pytest.mark.parametrize("value", [[], None, "text", 1, [("a", 1)]])
def test_an_object_is_a_mapping(value: Any) -> None:
    """Where an object is asked for, nothing else is taken, empty or not."""
    with pytest.raises(
        InvalidDataError, match=r"^metadata: \w+ is not an object. Use a mapping of JSON data\.$"
    ):
        freeze_object(value, "metadata")


class OtherError(ValueError):
    """Be the error of a room."""


@pytest.mark.parametrize(
    "judge",
    [
        lambda v: freeze({"a": v}, "m", OtherError),
        lambda v: freeze_object({"a": v}, "m", OtherError),
        lambda v: copy_json({"a": v}, "m", OtherError),
    ],
)
def test_a_room_raises_its_own_error(judge: Any) -> None:
    """A room that passes its error class gets that error, with path, fault and legal values."""
    with pytest.raises(OtherError) as caught:
        judge({2})
    assert caught.value.args == (
        "m.a",
        "set is not JSON data",
        "str, finite number, bool, None, list, mapping",
    )
    assert caught.value.__suppress_context__
    with pytest.raises(OtherError):
        freeze_object([], "m", OtherError)


@given(st.text(st.characters(), max_size=5))
def test_text_is_taken_if_it_can_be_stored(text: str) -> None:
    """Text passes exactly if it encodes as UTF-8, and comes back plain."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        with pytest.raises(
            InvalidDataError,
            match=(
                f"^name: lone surrogate U\\+D[0-9A-F]+ at character {error.start}. Use "
                f"{STORABLE}\\.$"
            ),
        ):
            check_text(text, "name")
    else:
        assert check_text(text, "name") == check_text(Loud(text), "name") == text
        assert type(check_text(Loud(text))) is str
