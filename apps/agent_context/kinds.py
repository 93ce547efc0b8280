"""The values that fields may have, read from their annotations by the codec of `base`.

Checks, writing, limits and the JSON Schema use this one table.

A kind never coerces: text stays text, ``"3"`` is not a number, ``1`` is not a truth value. It
accepts JSON values (lists, dicts, ISO 8601 text) and Python values (tuples, records, datetimes),
and returns the immutable form.
"""

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from attrs import NOTHING, evolve, frozen

from polycontext.base import InvalidDataError
from polycontext.base.codec import reader, strict_converter
from polycontext.base.json_data import MAX_DEPTH, freeze, freeze_object
from polycontext.linearity.tag import in_utc

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

MAX_INTEGER = 2**63 - 1
"""The largest count; JSON data may have the integers that `json_data` accepts."""


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

    `read` checks and freezes a value of `annotation`. `item` is the kind of an element of an array
    or map, `record` the class of an OBJECT. `optional` means that None is legal. `keep_empty` means
    that an empty value is written, too: numbers, truth values and times are, since 0 and False are
    information.
    """

    shape: Shape
    read: Reader
    annotation: Any
    item: "Kind | None" = None
    record: type | None = None
    optional: bool = False
    keep_empty: bool = False


def json_name(name: str) -> str:
    """Return the name in JSON of a Python field: a trailing underscore only avoids a keyword."""
    return name.rstrip("_")


_SCALARS = frozenset({str, int, float, Count, Amount, bool, Confidence, datetime})


def field_reader(annotation: Any, name: str, default: Any = NOTHING) -> Reader:
    """Return a reader of a field that adds the field's name to the path of a fault."""
    return reader(CODEC, annotation, name, default=default)


@cache
def kind_of(annotation: Any) -> Kind:
    """Return the kind of an annotation."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        kind = kind_of(next(part for part in parts if part is not NoneType))
        return evolve(kind, read=reader(CODEC, annotation), optional=True)
    read = reader(CODEC, annotation)
    if annotation is Any:
        return Kind(Shape.JSON, read, Any, optional=True, keep_empty=True)
    if annotation in _SCALARS:
        return Kind(Shape.SCALAR, read, annotation, keep_empty=annotation is not str)
    if origin is tuple:
        return Kind(Shape.ARRAY, read, annotation, kind_of(parts[0]))
    if annotation == Changes or origin is Mapping:
        item = kind_of(Any if annotation == Changes else parts[1])
        return Kind(Shape.MAP, read, annotation, item)
    return Kind(Shape.OBJECT, read, annotation, record=annotation, keep_empty=True)


def _is_record(kind: Any) -> bool:
    return hasattr(kind, "from_json")


def _moment(value: Any, kind: Any) -> datetime:
    utc = in_utc(value if isinstance(value, datetime) else _read_moment(value, kind), "")
    # A plain datetime: a subclass could have state and comparisons of its own.
    return utc if type(utc) is datetime else datetime.combine(utc.date(), utc.time(), UTC)


def _set_limit(kind: Any, base: Any, most: float, legal: str) -> None:
    """Let the codec read the numbers of an annotation from 0 to `most`."""
    number = CODEC.get_structure_hook(base)

    def read(value: Any, _: Any) -> Any:
        if type(value) is base and 0 <= value <= most:
            return value
        found = number(value, base)
        if not 0 <= found <= most:
            raise InvalidDataError("", f"{found!r:.40} is out of range", legal)
        return found

    CODEC.register_structure_hook_func(lambda each: bool(each == kind), read)


CODEC = strict_converter(immutable=True)
_read_moment = CODEC.get_structure_hook(datetime)
CODEC.register_structure_hook(datetime, _moment)
CODEC.register_structure_hook_func(lambda kind: kind is Any, lambda value, _: freeze(value))
CODEC.register_structure_hook_factory(_is_record, lambda kind: kind.from_json)
CODEC.register_structure_hook_func(
    lambda kind: bool(kind == Changes), lambda value, _: freeze_object(value, levels=_CHANGES_DEPTH)
)
_set_limit(Confidence, float, 1.0, "0..1")
_set_limit(Amount, float, sys.float_info.max, "a number from 0")
_set_limit(Count, int, MAX_INTEGER, "a whole number from 0 of 63 bits")
