"""Tags, which hold the class of a resource and its origin, and the index that ledgers share.

The index only grows, and its entries are hints: an id is at a place only if the version's own
column says so. A discarded version leaves nothing but a hint, and deriving from an older version
copies nothing.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from typing import Any

from attrs import Attribute, Factory, define, field, frozen

from polycontext.base import Column, InvalidDataError
from polycontext.base.json_data import Fault, check_text

from .resource_class import ResourceClass

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The `when` of a tag without a given time; the core reads no clock."""


def check_resource_id(resource_id: object) -> str:
    """Return `resource_id` if it is storable text and not empty.

    Raises:
        InvalidDataError: it is empty or cannot be stored.
    """
    text = check_text(resource_id, "resource_id")
    if not text:
        raise InvalidDataError("resource_id", "is empty", "a non-empty string")
    return text


def _is_text(_tag: object, attribute: "Attribute[str]", value: object) -> None:
    check_text(value, attribute.name)


def _is_class(_tag: object, attribute: "Attribute[Any]", value: object) -> None:
    if not isinstance(value, ResourceClass):
        legal = ", ".join(f"ResourceClass.{c.name}" for c in ResourceClass)
        raise InvalidDataError(attribute.name, f"{value!r:.60} is not a resource class", legal)


def in_utc(value: object, path: str, fault: Fault = InvalidDataError) -> datetime:
    """Return an aware datetime in UTC; raise what `fault` creates for any other value."""
    legal = "an aware datetime, for example datetime.now(UTC)"
    if not isinstance(value, datetime):
        raise fault(path, f"{type(value).__name__} is not a datetime", legal)
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise fault(path, "naive datetime without a time zone", legal)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise fault(
            path,
            f"{value.isoformat()} is out of range and has no UTC time",
            "a moment between the years 1 and 9999 in UTC",
        ) from None


def _utc(when: datetime) -> datetime:
    return in_utc(when, "when")


# There is one tag for every turn, so each slot counts.
@frozen(weakref_slot=False)
class Tag:
    """The class of a resource, where it came from, why, and when (aware, stored in UTC).

    `pinned` means that a caller set the class explicitly. No part of a pinned resource is evicted,
    not even its images.

    Raises:
        InvalidDataError: the class is not a `ResourceClass`, a text cannot be stored, or `when` has
            no time zone; `path` names the field.

    >>> Tag(ResourceClass.PRESERVED, provenance="default", rationale="the task").resource_class.name
    'PRESERVED'
    """

    resource_class: ResourceClass = field(validator=_is_class)
    provenance: str = field(default="", kw_only=True, validator=_is_text)
    rationale: str = field(default="", kw_only=True, validator=_is_text)
    when: datetime = field(default=UNIX_EPOCH, kw_only=True, converter=_utc)
    pinned: bool = field(default=False, kw_only=True)

    def at(self, when: datetime) -> "Tag":
        """Return the same tag at another time (aware, in UTC), without checking it again."""
        if when is self.when:
            return self
        tag: Tag = object.__new__(Tag)
        values = (self.resource_class, self.provenance, self.rationale, when, self.pinned)
        for name, value in zip(Tag.__slots__, values, strict=True):  # type: ignore[attr-defined]
            object.__setattr__(tag, name, value)
        return tag


_noting = Lock()

_MOST_DIGITS = 12


def number_of(resource_id: object) -> int | None:
    """Return the number after the first letter of `resource_id`, or None if there is none.

    >>> number_of("t12"), number_of("t012"), number_of("turn-12")
    (12, None, None)
    """
    return _number_of(resource_id) if isinstance(resource_id, str) else None


@lru_cache(1_024)  # An id that is added is looked up several times.
def _number_of(resource_id: str) -> int | None:
    digits = resource_id[1:]
    is_number = digits.isdigit() and digits.isascii() and digits[0] != "0"
    return int(digits) if is_number and len(digits) <= _MOST_DIGITS else None


@define(eq=False)
class SharedIndex:
    """The places of ids, and the tags apart from their times, that all versions of a ledger share.

    An id that ends in its own index, counted from 1, is found by that number. `places` are those of
    all others, and `further` the other places of ids that versions hold at different ones, which
    are nearly always none.
    """

    known: dict[tuple[ResourceClass, str, str, bool], Tag] = Factory(dict)
    places: dict[str, int] = Factory(dict)
    further: dict[str, tuple[int, ...]] = Factory(dict)

    @classmethod
    def of(cls, ids: Iterable[str]) -> "SharedIndex":
        """Return the index of `ids`, in order."""
        numbered = enumerate(ids, 1)
        places = {each: number - 1 for number, each in numbered if each[1:] != str(number)}
        return cls(places=places)

    def kind(self, tag: Tag) -> Tag:
        """Return the stored tag that is equal to `tag` apart from its time."""
        key = (tag.resource_class, tag.provenance, tag.rationale, tag.pinned)
        return self.known.get(key) or self.known.setdefault(key, tag)

    def note(self, resource_id: str, place: int) -> None:
        """Note that a version has `resource_id` at `place`."""
        # One atomic step, so that if two versions give an id different places, both are recorded.
        if (
            number_of(resource_id) != place + 1
            and self.places.setdefault(resource_id, place) != place
        ):
            with _noting:
                self.further[resource_id] = tuple({*self.further.get(resource_id, ()), place})

    def place(self, resource_id: str, ids: Column[str]) -> int | None:
        """Return the place of `resource_id` among the `ids` of a version, or None."""
        number = number_of(resource_id)
        if number is not None and _holds(ids, number - 1, resource_id):
            return number - 1
        place = self.places.get(resource_id)
        if place is None or _holds(ids, place, resource_id):
            return place
        further = self.further.get(resource_id, ())
        return next((place for place in further if _holds(ids, place, resource_id)), None)


def _holds(ids: Column[str], place: int, resource_id: str) -> bool:
    return 0 <= place < ids.length and ids[place] == resource_id
