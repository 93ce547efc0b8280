"""What the ledger remembers of one resource: its class, and who said so, why and when."""

from datetime import UTC, datetime
from typing import Any

from attrs import Attribute, field, frozen

from polycontext.linearity.errors import InvalidTagError
from polycontext.linearity.resource_class import ResourceClass

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The `when` of a tag that was not told its time: the core reads no clock."""


def check_text(text: object, name: str) -> str:
    """Return `text` if it can be stored as UTF-8; raise `InvalidTagError` naming the field otherwise."""
    if not isinstance(text, str):
        raise InvalidTagError(name, f"{type(text).__name__} is not text", "str")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            problem = f"lone surrogate U+{ord(text[error.start]):04X} at character {error.start}"
            raise InvalidTagError(name, problem, "text that encodes as UTF-8") from None
    return text


def check_resource_id(resource_id: object) -> str:
    """Return `resource_id` if it is storable text and not empty; raise `InvalidTagError` otherwise."""
    if not check_text(resource_id, "resource_id"):
        raise InvalidTagError("resource_id", "is empty", "a non-empty string")
    return str(resource_id)


def _is_text(_tag: object, attribute: "Attribute[str]", value: object) -> None:
    check_text(value, attribute.name)


def _is_class(_tag: object, attribute: "Attribute[Any]", value: object) -> None:
    if not isinstance(value, ResourceClass):
        legal = ", ".join(f"ResourceClass.{c.name}" for c in ResourceClass)
        raise InvalidTagError(attribute.name, f"{value!r} is not a resource class", legal)


def _utc(when: datetime) -> datetime:
    value: object = when
    if not isinstance(value, datetime):
        raise InvalidTagError("when", f"{type(value).__name__} is not a datetime", "an aware datetime")
    if value.utcoffset() is None:
        raise InvalidTagError("when", "naive datetime without a time zone", "an aware datetime, for example datetime.now(UTC)")
    if value.tzinfo is UTC:
        return value
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidTagError("when", f"{value.isoformat()} has no UTC time", "a moment between the years 1 and 9999 in UTC") from None


@frozen
class Tag:
    """Hold the class of a resource, where it came from, why, and when (aware, kept in UTC).

    Raises:
        InvalidTagError: no resource class, text that cannot be stored, a naive `when`.

    >>> Tag(ResourceClass.PRESERVED, provenance="default", rationale="the task").resource_class.name
    'PRESERVED'
    """

    resource_class: ResourceClass = field(validator=_is_class)
    provenance: str = field(default="", kw_only=True, validator=_is_text)
    rationale: str = field(default="", kw_only=True, validator=_is_text)
    when: datetime = field(default=UNIX_EPOCH, kw_only=True, converter=_utc)
