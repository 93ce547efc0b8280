"""Tags, which hold the class of a resource and its origin, and the store that ledgers share.

Ids and tags are persistent columns, so no version can affect another. Tags that differ only in
their time are stored once, with the times in a column of their own. An id that ends in its own
index, counted from 1, as the ids of a window do, is found by that number. For all other ids, one
table that all versions of a ledger share maps ids to indices. The table only grows, and its entries
are hints: an id is at an index only if the version's own column says so. A discarded version leaves
nothing but a hint, and deriving from an older version copies nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from typing import Any, cast

from attrs import Attribute, field, frozen

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


_MANY = 8
"""If the requested ids are at least one in this many of all ids, one pass finds them all."""

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


class SharedStore:
    """Ids in order (`ids`) with the tag of each; every change returns another store."""

    __slots__ = ("_further", "_kinds", "_known", "_places", "_whens", "ids")

    def __init__(self, ids: Iterable[str] = (), tags: Iterable[Tag] = ()) -> None:
        given = list(tags)
        self._known: dict[tuple[ResourceClass, str, str, bool], Tag] = {}
        self.ids = Column.of(ids)
        self._kinds = Column.of(map(self._kind, given))
        self._whens = Column.of(tag.when for tag in given)
        self._places = {
            resource_id: place
            for place, resource_id in enumerate(self.ids)
            if resource_id[1:] != str(place + 1)
        }
        # Further indices of ids that different versions hold at different indices; nearly always
        # empty.
        self._further: dict[str, tuple[int, ...]] = {}

    @classmethod
    def of_columns(
        cls, ids: Sequence[str], kinds: Sequence[Tag], whens: Iterable[datetime]
    ) -> "SharedStore":
        """Return the store of `ids` with the tags `kinds` at the times `whens`.

        Equal tags are stored once.
        """
        store = cls(ids)
        for kind in {id(kind): kind for kind in kinds}.values():
            store._kind(kind)
        store._kinds, store._whens = Column.of(kinds), Column.of(whens)
        return store

    def find(self, resource_id: str) -> Tag | None:
        """Return the tag of `resource_id`, or None if the id is unknown."""
        place = self.place(resource_id)
        return None if place is None else self._kinds[place].at(self._whens[place])

    def find_kind(self, resource_id: str) -> Tag | None:
        """Return the stored tag equal to that of `resource_id` apart from its time, or None."""
        place = self.place(resource_id)
        return None if place is None else self._kinds[place]

    def classes(self, resource_ids: Sequence[str]) -> list[ResourceClass] | None:
        """Return the classes of many ids at once, or None if any id is unknown."""
        if len(resource_ids) * _MANY < len(self.ids):
            found = [*map(self.find_kind, resource_ids)]
            return None if None in found else [kind.resource_class for kind in found if kind]
        kinds = dict(zip(self.ids, self._kinds, strict=True))
        try:
            return [kinds[resource_id].resource_class for resource_id in resource_ids]
        except KeyError:
            return None

    def items(self) -> Iterator[tuple[str, Tag]]:
        """Iterate over ids and their tags, in order."""
        return zip(self.ids, map(Tag.at, self._kinds, self._whens), strict=True)

    def columns_since(self, place: int) -> tuple[list[str], list[Tag], list[datetime]]:
        """Return the ids, the tags without their times, and the times from index `place` on."""
        return self.ids.since(place), self._kinds.since(place), self._whens.since(place)

    def changed_since(self, older: "SharedStore") -> list[int]:
        """Return the indices of `older` at which this store has another tag.

        Shared chunks are not compared.
        """
        kinds = self._kinds.changed_since(older._kinds)
        whens = self._whens.changed_since(older._whens)
        return sorted({*kinds, *whens})

    def append(self, resource_id: str, tag: Tag) -> "SharedStore":
        """Return the store with a new id added at the end."""
        place = self.ids.length
        # One atomic step, so that if two versions give an id different indices, both are recorded.
        if (
            number_of(resource_id) != place + 1
            and self._places.setdefault(resource_id, place) != place
        ):
            with _noting:
                self._further[resource_id] = tuple({*self._further.get(resource_id, ()), place})
        return self._with(
            self.ids.appended(resource_id),
            self._kinds.appended(self._kind(tag)),
            self._whens.appended(tag.when),
        )

    def replace(self, resource_id: str, tag: Tag) -> "SharedStore":
        """Return the store in which a known id has another tag."""
        place = cast("int", self.place(resource_id))
        return self._with(
            self.ids,
            self._kinds.replaced(place, self._kind(tag)),
            self._whens.replaced(place, tag.when),
        )

    def place(self, resource_id: str) -> int | None:
        """Return the index of `resource_id`, or None if the id is unknown."""
        number = number_of(resource_id)
        if number is not None and self._holds(number - 1, resource_id):
            return number - 1
        place = self._places.get(resource_id)
        if place is None or self._holds(place, resource_id):
            return place
        further = self._further.get(resource_id, ())
        return next((place for place in further if self._holds(place, resource_id)), None)

    def _holds(self, place: int, resource_id: str) -> bool:
        return 0 <= place < self.ids.length and self.ids[place] == resource_id

    def _kind(self, tag: Tag) -> Tag:
        """Return the stored tag that is equal to `tag` apart from its time."""
        key = (tag.resource_class, tag.provenance, tag.rationale, tag.pinned)
        return self._known.get(key) or self._known.setdefault(key, tag)

    def _with(self, ids: Column[str], kinds: Column[Tag], whens: Column[datetime]) -> "SharedStore":
        store = object.__new__(SharedStore)
        store.ids, store._kinds, store._whens = ids, kinds, whens
        store._places, store._further, store._known = self._places, self._further, self._known
        return store

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)
