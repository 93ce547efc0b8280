"""What the records of the nodes are checked by: storable text, counts, enums by name, immutable JSON data."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from math import isfinite
from typing import Any, TypeVar

from attrs import Attribute, define

from polycontext.linearity import CallerError

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

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


def checked(value: object, kind: type[T], name: str) -> T:
    """Return `value` if it is a `kind`; raise `InvalidRecordError` otherwise."""
    if not isinstance(value, kind):
        raise InvalidRecordError(name, f"{type(value).__name__} is no {kind.__name__}", kind.__name__)
    return value


def is_a(kind: type[object]) -> Callable[[object, "Attribute[Any]", object], None]:
    """Return the validator of a field that holds a `kind`."""

    def check(_record: object, attribute: "Attribute[Any]", value: object) -> None:
        checked(value, kind, attribute.name)

    return check


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


class JsonObject(Mapping[str, Any]):
    """Hold a JSON object, copied and judged once; it cannot change, so that all versions of a record may share it.

    Equal to any mapping of equal items.

    Raises:
        InvalidRecordError: it is no mapping of JSON data, of integers of 64 bits and 100 levels at most.

    >>> soup = JsonObject({"tags": ["hot"]})
    >>> soup["tags"], soup.thawed()
    (('hot',), {'tags': ['hot']})
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any], name: str = "data", depth: int = MAX_DEPTH) -> None:
        """Copy `items`; an error calls them `name`, and `depth` is how many levels they may have."""
        if not isinstance(items, Mapping):
            raise InvalidRecordError(name, f"{type(items).__name__} is no object", "a mapping of JSON data")
        self._items = {check_text(key, name): json_data(item, f"{name}.{key}", depth - 1) for key, item in items.items()}

    def thawed(self) -> dict[str, Any]:
        """Return the same as the dicts and lists that a JSON writer takes."""
        return {key: thawed(item) for key, item in self._items.items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, JsonObject) else other)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __repr__(self) -> str:
        return f"JsonObject({self.thawed()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonObject, (self.thawed(),)


def object_or_none(value: Mapping[str, Any] | None, name: str) -> JsonObject | None:
    """Convert to a JSON object, where there is one."""
    return value if value is None or isinstance(value, JsonObject) else JsonObject(value, name)


def json_data(value: Any, name: str, depth: int = MAX_DEPTH) -> Any:
    """Return JSON data made immutable: objects are `JsonObject`, lists are tuples.

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
            return JsonObject(value, name, depth)
        case list() | tuple() if depth:
            return tuple(json_data(item, f"{name}[{index}]", depth - 1) for index, item in enumerate(value))
        case _:
            raise InvalidRecordError(name, f"a {type(value).__name__} that JSON cannot hold", "str, finite number, bool, None, list, dict")


def thawed(value: Any) -> Any:
    """Return immutable JSON data as the dicts and lists that a JSON writer takes."""
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, list | tuple) else value
