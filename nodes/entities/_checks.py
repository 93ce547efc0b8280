"""What an entity is made of, judged once: turns, ids, types, names."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from attrs import Attribute

from polycontext.nodes._values import MAX_INTEGER, InvalidRecordError, check_text
from polycontext.nodes.entities.naming import numbered

EntityId: TypeAlias = str | int
"""What a database knows an entity by; unique within the entity's type."""

_TYPE = re.compile(r"[^\W\d]\w*(?:[.-]\w+)*")
_REF_NAME = re.compile(r"[^\W\d]\w*")


def check_said(value: object, name: str) -> str:
    """Return `value` if it is storable text that says something."""
    text = check_text(value, name)
    if not text.strip():
        raise InvalidRecordError(name, "is blank", "text that says something")
    return text


def check_count(value: object, name: str) -> int:
    """Return `value` if it is the number of a turn, or of turns."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_INTEGER:
        raise InvalidRecordError(name, f"{value!r:.40} is no count of turns", "a whole number from 0")
    return value


def check_id(value: object) -> EntityId:
    """Return `value` if it is a database id."""
    if isinstance(value, str):
        return check_said(value, "id")
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MAX_INTEGER:
        raise InvalidRecordError("id", f"{value!r:.60} is no id", "text or an integer of 64 bits, such as str(uuid)")
    return value


def check_type(value: object) -> str:
    """Return `value` if it is a type that refs can be named after."""
    text = check_text(value, "type")
    if not _TYPE.fullmatch(text):
        raise InvalidRecordError("type", f"{text!r:.60} is no name", "letters, digits and _, parts joined by . or -, such as meal_plans")
    return text


def check_names(value: Mapping[str, str]) -> Mapping[str, str]:
    """Return a copy of the caller's names for types, if refs can be made of them."""
    if not isinstance(value, Mapping):
        raise InvalidRecordError("ref_names", f"{type(value).__name__} is no mapping", "a mapping of types to names")
    for kind, name in value.items():
        if not _REF_NAME.fullmatch(check_text(name, f"ref_names.{check_type(kind)}")):
            raise InvalidRecordError(f"ref_names.{kind}", f"{name!r:.60} is no name", "letters, digits and _, such as meal_plan")
    return MappingProxyType(dict(value))


def is_ref(_: object, attribute: "Attribute[str]", value: object) -> None:
    """Validate a field that holds a ref, or nothing where the reader may not see it."""
    if check_text(value, attribute.name) and numbered(str(value)) is None:
        raise InvalidRecordError(attribute.name, f"{value!r:.60} is no ref", "a name and a number, such as recipe_1")


def is_type(_: object, _attribute: "Attribute[str]", value: object) -> None:
    """Validate a field that holds a type."""
    check_type(value)


def is_said_or_none(_: object, attribute: "Attribute[str | None]", value: object) -> None:
    """Validate a field of text that says something, where there is any."""
    if value is not None:
        check_said(value, attribute.name)
