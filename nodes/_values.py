"""What the records of the nodes are checked by: storable text, counts, enums by name, immutable JSON data."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from math import isfinite
from types import MappingProxyType
from typing import Any, TypeVar

from attrs import Attribute, define

from polycontext.linearity import CallerError

E = TypeVar("E", bound=StrEnum)

MAX_INTEGER = 2**63 - 1
"""The integers that every reader of JSON holds."""
MAX_DEPTH = 100
"""How deep JSON data may be nested."""


@define(slots=False, eq=False)
class InvalidRecordError(CallerError, ValueError):
    """Refuse a value that a record of the context layers cannot hold."""

    field: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"field {self.field!r}: {self.problem}; legal: {self.legal}"


def chosen(enum: type[E], name: str, value: Any) -> E:
    """Return the member of `enum` that `value` is or names; raise `InvalidRecordError` listing the members otherwise."""
    try:
        return enum(value)
    except ValueError:
        raise InvalidRecordError(name, f"unknown {value!r:.60}", ", ".join(enum)) from None


def check_text(value: object, name: str) -> str:
    """Return `value` if it is text that can be stored as UTF-8; raise `InvalidRecordError` otherwise."""
    if not isinstance(value, str):
        raise InvalidRecordError(name, f"{type(value).__name__} is not text", "str")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRecordError(name, f"lone surrogate at character {error.start}", "text that encodes as UTF-8") from None
    return value


def is_text(_record: object, attribute: "Attribute[Any]", value: object) -> None:
    """Validate a field of text."""
    check_text(value, attribute.name)


def is_text_or_none(_record: object, attribute: "Attribute[Any]", value: object) -> None:
    """Validate a field of text that may be absent."""
    if value is not None:
        check_text(value, attribute.name)


def are_texts(_record: object, attribute: "Attribute[Any]", value: tuple[object, ...]) -> None:
    """Validate a tuple of texts."""
    for index, item in enumerate(value):
        check_text(item, f"{attribute.name}[{index}]")


def is_tuple(_record: object, attribute: "Attribute[Any]", value: object) -> None:
    """Validate a field that holds a tuple, so that nobody can change it from outside."""
    if not isinstance(value, tuple):
        raise InvalidRecordError(attribute.name, f"{type(value).__name__} is no tuple", "a tuple")


def whole_from(least: int) -> Callable[[object, "Attribute[Any]", object], None]:
    """Return the validator of a whole number, at least `least`."""

    def check(_record: object, attribute: "Attribute[Any]", value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_INTEGER:
            raise InvalidRecordError(attribute.name, f"{value!r:.60} is no such number", f"a whole number from {least}")

    return check


def texts(value: Iterable[str]) -> tuple[str, ...]:
    """Convert to a tuple; one string is taken for one text, not for its letters."""
    return (value,) if isinstance(value, str) else tuple(value)


def json_data(value: Any, name: str, depth: int = MAX_DEPTH) -> Any:
    """Return JSON data made immutable: mappings are read-only, lists are tuples.

    Raises:
        InvalidRecordError: naming the place of the first value that JSON cannot hold: another
            type, a number that is not finite or over 64 bits, more than 100 levels.
    """
    match value:
        case None | bool():
            return value
        case int() if abs(value) <= MAX_INTEGER:
            return value
        case float() if isfinite(value):
            return value
        case str():
            return check_text(value, name)
        case Mapping() if depth:
            return MappingProxyType({check_text(key, name): json_data(item, f"{name}.{key}", depth - 1) for key, item in value.items()})
        case list() | tuple() if depth:
            return tuple(json_data(item, f"{name}[{index}]", depth - 1) for index, item in enumerate(value))
        case _:
            raise InvalidRecordError(name, f"a {type(value).__name__} that JSON cannot hold", "str, finite number, bool, None, list, dict")


def thawed(value: Any) -> Any:
    """Return immutable JSON data as the dicts and lists that a JSON writer takes."""
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, list | tuple) else value
