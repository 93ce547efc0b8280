"""Checks of the fields of the nodes' records: text, counts, enums by name, JSON data."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from attrs import Attribute

from polycontext.base import InvalidDataError, is_whole
from polycontext.base.json_data import FrozenDict, check_text, freeze_object

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")
Validator = Callable[[object, "Attribute[Any]", object], object]

MAX_INTEGER = 2**63 - 1
"""The largest count, and the largest numeric id: every database column and reader of JSON holds it.
"""


def parse_member(enum: type[E], name: str, value: Any) -> E:
    """Return the member of `enum` that `value` is or names.

    Raises:
        InvalidDataError: there is none; lists the members.
    """
    try:
        return enum(value)
    except ValueError:
        raise InvalidDataError(name, f"unknown {value!r:.60}", ", ".join(enum)) from None


def is_text(_record: object, attribute: "Attribute[Any]", value: object) -> None:
    """Validate a field of text."""
    check_text(value, attribute.name)


def are_texts(_record: object, attribute: "Attribute[Any]", value: tuple[object, ...]) -> None:
    """Validate a tuple of texts."""
    # Not with attrs' deep_iterable, which does not name the index.
    for index, item in enumerate(value):
        check_text(item, f"{attribute.name}[{index}]")


def check_not_blank(value: object, name: str) -> str:
    """Return `value` if it is storable text that is not blank.

    Raises:
        InvalidDataError: it is not.
    """
    text = check_text(value, name)
    if not text.strip():
        raise InvalidDataError(name, "is blank", "non-empty text")
    return text


def is_not_blank(_record: object, attribute: "Attribute[Any]", value: object) -> None:
    """Validate a field of text that must not be blank."""
    check_not_blank(value, attribute.name)


def check_instance(value: object, kind: type[T], name: str) -> T:
    """Return `value` if it is a `kind`; raise `InvalidDataError` otherwise."""
    if not isinstance(value, kind):
        raise InvalidDataError(
            name, f"{type(value).__name__} is not a {kind.__name__}", kind.__name__
        )
    return value


def is_a(kind: type[object]) -> Validator:
    """Return a validator of a field that holds a `kind`."""
    return lambda _record, attribute, value: check_instance(value, kind, attribute.name)


def check_count(value: object, name: str, least: int = 0) -> int:
    """Return `value` if it is a whole number of at least `least`.

    Raises:
        InvalidDataError: it is not.
    """
    if not is_whole(value, least, MAX_INTEGER):
        raise InvalidDataError(
            name, f"{value!r:.60} is not a valid number", f"a whole number from {least}"
        )
    return value


def whole_from(least: int) -> Validator:
    """Return a validator of a whole number of at least `least`."""
    return lambda _record, attribute, value: check_count(value, attribute.name, least)


def texts(value: Iterable[str]) -> tuple[str, ...]:
    """Convert to a tuple; a single string becomes one text, not its letters."""
    return (value,) if isinstance(value, str) else tuple(value)


def object_or_none(value: Mapping[str, Any] | None, name: str) -> FrozenDict[Any] | None:
    """Convert to an immutable JSON object, unless it is None."""
    return None if value is None else freeze_object(value, name)
