"""The values that fields may have, read from their annotations.

Checks, writing, limits and the JSON Schema use this one table.

A kind never coerces: text stays text, ``"3"`` is not a number, ``1`` is not a truth value. It
accepts JSON values (lists, dicts, RFC 3339 text) and Python values (tuples, records, datetimes),
and returns the immutable form.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, partial
from math import isfinite
from operator import is_
from re import compile as pattern
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from attrs import converters, evolve, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import (
    EMPTY,
    MAX_DEPTH,
    FrozenDict,
    check_text,
    freeze,
    freeze_object,
)

from .errors import at_path, step_of, wrong_type

Reader: TypeAlias = Callable[[Any], Any]

Confidence = Annotated[float, "0..1"]
"""A number from 0 to 1, both included."""

Count = Annotated[int, "0.."]
"""A whole number of at least 0."""

Amount = Annotated[float, "0.."]
"""A number of at least 0, such as a price."""

Changes = Annotated[Mapping[str, Any], "what was changed"]
"""A JSON object that contains values of other fields, and may be nested deeper than one of them."""

_CHANGES_DEPTH = MAX_DEPTH + 16

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
"""The range of an integer field; JSON data may have the integers that `json_data` accepts."""

_RFC_3339 = pattern(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
).fullmatch


class Shape(StrEnum):
    """The form of a value in JSON: an array, a map with any keys, a record, a scalar, or any."""

    ARRAY = "array"
    MAP = "map"
    OBJECT = "object"
    SCALAR = "scalar"
    JSON = "json"


@frozen
class Kind:
    """The values that a field may have.

    `read` checks and freezes a value. `item` is the kind of an element of an array or map, `record`
    the class of an OBJECT. `optional` means that None is legal. `keep_empty` means that an empty
    value is written, too: numbers, truth values and times are, since 0 and False are information.
    """

    shape: Shape
    read: Reader
    name: str
    item: "Kind | None" = None
    record: type | None = None
    optional: bool = False
    keep_empty: bool = False


def json_name(name: str) -> str:
    """Return the name in JSON of a Python field: a trailing underscore only avoids a keyword."""
    return name.rstrip("_")


@cache
def kind_of(annotation: Any) -> Kind:
    """Return the kind of an annotation."""
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return _array(kind_of(parts[0]))
    if origin is Mapping:
        return _map(kind_of(parts[1]))
    if origin in (Union, UnionType):
        kind = kind_of(next(part for part in parts if part is not NoneType))
        return evolve(kind, read=converters.optional(kind.read), optional=True)
    return Kind(
        Shape.OBJECT, annotation.from_json, annotation.__name__, record=annotation, keep_empty=True
    )


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(value, "a whole number", "an integer")
    if not MIN_INTEGER <= value <= MAX_INTEGER:
        raise InvalidDataError(
            "", "the number has more than 64 bits", f"{MIN_INTEGER}..{MAX_INTEGER}"
        )
    return int(value)


def _confidence(value: Any) -> float:
    number: float = value if type(value) is float else _number(value)
    if 0.0 <= number <= 1.0:
        return number
    raise InvalidDataError("", f"{_finite(number)!r} is out of range", "0..1")


def _number(value: Any) -> float:
    # JSON has one type of number: 1 is a legal way to write 1.0.
    return float(_integer(value)) if type(value) is int else _finite(value)


def _finite(value: Any) -> float:
    if not isinstance(value, float):
        raise wrong_type(value, "a number", "a finite number")
    if not isfinite(value):
        raise InvalidDataError("", f"{float(value)!r} is not JSON", "a finite number")
    return float(value)


def _from_zero(one: Reader, legal: str) -> Reader:
    def read(value: Any) -> Any:
        number = one(value)
        if number < 0:
            raise InvalidDataError("", f"{number!r:.40} is negative", legal)
        return number

    return read


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise wrong_type(value, "a truth value", "true or false")
    return value


def _moment(value: Any) -> datetime:
    try:
        moment = (
            datetime.fromisoformat(value.upper())
            if isinstance(value, str) and _RFC_3339(value)
            else value
        )
    except ValueError:
        moment = value
    return moment if type(moment) is datetime and moment.tzinfo is UTC else _in_utc(moment)


def _in_utc(moment: Any) -> datetime:
    if isinstance(moment, str):
        raise InvalidDataError(
            "", f"{moment[:40]!a} is not a time", "RFC 3339, such as 2026-01-31T12:00:00Z"
        )
    if not isinstance(moment, datetime):
        raise wrong_type(moment, "a time", "an aware datetime or RFC 3339 text")
    if moment.utcoffset() is None:
        raise InvalidDataError(
            "",
            "naive datetime without a time zone",
            "an aware datetime, for example datetime.now(UTC)",
        )
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        raise InvalidDataError(
            "", f"{moment!s:.40} has no UTC time", "a moment between the years 1 and 9999 in UTC"
        ) from None
    # A plain datetime: a subclass could have state and comparisons of its own.
    return datetime(*utc.timetuple()[:6], utc.microsecond, tzinfo=UTC)


def _array(item: Kind) -> Kind:
    one = item.read

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise wrong_type(value, "an array", f"a list of {item.name}")
        try:
            items = tuple(map(one, value))
        except InvalidDataError:
            # Read again to find the path of the fault; tracking it in the normal case would cost
            # more.
            items = tuple(
                at_path(f"[{index}]", one, element) for index, element in enumerate(value)
            )
        # Return the same tuple if nothing changed: shared values are recognised by identity.
        return value if type(value) is tuple and all(map(is_, items, value)) else items

    return Kind(Shape.ARRAY, read, f"list of {item.name}", item=item)


def _map(item: Kind) -> Kind:
    one, name = item.read, f"mapping from text to {item.name}"

    def read(value: Any) -> FrozenDict[Any]:
        if not isinstance(value, (dict, Mapping)):
            raise wrong_type(value, "an object", f"a {name}")
        try:
            items = {check_text(key): one(element) for key, element in value.items()}
        except InvalidDataError:
            items = {
                at_path(step_of(key), check_text, key): at_path(step_of(key), one, element)
                for key, element in value.items()
            }
        if type(value) is FrozenDict and all(map(is_, items.values(), value.values())):
            return value
        return FrozenDict(items) if items else EMPTY

    return Kind(Shape.MAP, freeze_object if item.shape is Shape.JSON else read, name, item=item)


_SCALARS: dict[Any, Kind] = {
    str: Kind(Shape.SCALAR, check_text, "text"),
    int: Kind(Shape.SCALAR, _integer, "integer", keep_empty=True),
    float: Kind(Shape.SCALAR, _number, "number", keep_empty=True),
    Count: Kind(
        Shape.SCALAR, _from_zero(_integer, "a whole number from 0"), "count", keep_empty=True
    ),
    Amount: Kind(Shape.SCALAR, _from_zero(_number, "a number from 0"), "amount", keep_empty=True),
    bool: Kind(Shape.SCALAR, _truth, "truth value", keep_empty=True),
    Confidence: Kind(Shape.SCALAR, _confidence, "confidence", keep_empty=True),
    datetime: Kind(Shape.SCALAR, _moment, "time", keep_empty=True),
    Any: Kind(Shape.JSON, freeze, "JSON data", optional=True, keep_empty=True),
}
_SCALARS[Changes] = Kind(
    Shape.MAP,
    partial(freeze_object, levels=_CHANGES_DEPTH),
    "mapping from text to JSON data",
    item=kind_of(Any),
)
