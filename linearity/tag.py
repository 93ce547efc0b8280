"""What the ledger remembers of one resource: its class, and who said so, why and when."""

from datetime import UTC, datetime
from typing import Any

from attrs import Attribute, field, frozen

from .errors import InvalidDataError
from .json_data import Fault, check_text
from .resource_class import ResourceClass

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The `when` of a tag that was not told its time: the core reads no clock."""


def check_resource_id(resource_id: object) -> str:
    """Return `resource_id` if it is storable text and not empty; raise `InvalidDataError` otherwise."""
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
    """Return an aware datetime in UTC; raise what `fault` makes for anything else."""
    if not isinstance(value, datetime):
        raise fault(path, f"{type(value).__name__} is not a datetime", "an aware datetime")
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise fault(path, "naive datetime without a time zone", "an aware datetime, for example datetime.now(UTC)")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise fault(
            path, f"{value.isoformat()} is out of range and has no UTC time", "a moment between the years 1 and 9999 in UTC"
        ) from None


def _utc(when: datetime) -> datetime:
    return in_utc(when, "when")


# One for every turn there ever was: each slot counts.
@frozen(weakref_slot=False)
class Tag:
    """Hold the class of a resource, where it came from, why, and when (aware, kept in UTC).

    `pinned` tells that a caller gave the class by name: then nothing of the resource yields, its pictures included.

    Raises:
        InvalidDataError: no resource class, text that cannot be stored, a naive `when`; `path` names the field.

    >>> Tag(ResourceClass.PRESERVED, provenance="default", rationale="the task").resource_class.name
    'PRESERVED'
    """

    resource_class: ResourceClass = field(validator=_is_class)
    provenance: str = field(default="", kw_only=True, validator=_is_text)
    rationale: str = field(default="", kw_only=True, validator=_is_text)
    when: datetime = field(default=UNIX_EPOCH, kw_only=True, converter=_utc)
    pinned: bool = field(default=False, kw_only=True)

    def at(self, when: datetime) -> "Tag":
        """Return the tag that says the same at another time (aware, in UTC); nothing of it is checked again."""
        if when is self.when:
            return self
        tag: Tag = object.__new__(Tag)
        values = (self.resource_class, self.provenance, self.rationale, when, self.pinned)
        for name, value in zip(Tag.__slots__, values, strict=True):  # type: ignore[attr-defined]
            object.__setattr__(tag, name, value)
        return tag
