"""Types, refs and ids of entities: their formats, validators and errors.

The type ``recipes`` gives the ref ``recipe_1``, or ``gen_recipe_1`` until the entity is saved.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

from attrs import Attribute, define

from polycontext.base import CallerError, InvalidDataError, advised, is_whole
from polycontext.base.json_data import FrozenDict, check_text

from ..checks import MAX_INTEGER, check_not_blank

EntityId: TypeAlias = str | int
"""The database id of an entity, unique within the entity's type."""

GENERATED = "gen_"
"""The prefix of refs of entities that have no database id yet."""

_IRREGULAR = {
    "children": "child",
    "cookies": "cookie",
    "menus": "menu",
    "movies": "movie",
    "news": "news",
    "people": "person",
    "series": "series",
}
# The first matching ending applies.
_ENDINGS = (
    (r"(?<=\w{2})ies$", "y"),
    (r"(?<=ss|sh|ch)es$", ""),
    (r"(?<=x)es$", ""),
    (r"(?<=[^sui])s$", ""),
)


def singular(word: str) -> str:
    """Return the singular of an English plural, judged by the ending of its last word.

    ``-ies`` becomes ``-y``; ``-sses -shes -ches -xes`` lose ``-es``; any other ``-s`` is dropped,
    except in ``-ss -us -is``. A few irregular words are known; give a registry `ref_names` for the
    others (docs/nodes.md).

    >>> [
    ...     singular(word)
    ...     for word in (
    ...         "recipes",
    ...         "categories",
    ...         "dishes",
    ...         "meal_plans",
    ...         "inventory",
    ...         "status",
    ...         "people",
    ...     )
    ... ]
    ['recipe', 'category', 'dish', 'meal_plan', 'inventory', 'status', 'person']
    """
    head, last = re.fullmatch(r"(.*[_.-])?(.*)", word).groups(default="")  # type: ignore[union-attr]
    if last in _IRREGULAR:
        return head + _IRREGULAR[last]
    for ending, instead in _ENDINGS:
        if re.search(ending, last):
            return head + re.sub(ending, instead, last)
    return word


def ref_name(type: str, ref_names: Mapping[str, str]) -> str:
    """Return the ref prefix of `type`: the caller's name for it, or its singular.

    >>> ref_name("public.meal-plans", {}), ref_name("octopi", {"octopi": "octopus"})
    ('public_meal_plan', 'octopus')
    """
    return ref_names.get(type) or re.sub(r"[.-]", "_", singular(type))


def parse_ref(ref: str) -> tuple[str, int] | None:
    """Return the prefix and the number of a ref, or None if `ref` is not formed like one.

    >>> parse_ref("gen_recipe_12"), parse_ref("recipe"), parse_ref("recipe_012")
    (('gen_recipe', 12), None, None)
    """
    # At most 18 digits: a model may write any number, and int() raises for a very long one.
    match = re.fullmatch(r"([^\W\d]\w*)_([1-9][0-9]{0,17})", ref)
    return (match[1], int(match[2])) if match else None


def check_id(value: object, name: str = "id") -> EntityId:
    """Return `value` if it is a valid database id; raise `InvalidDataError` otherwise."""
    if isinstance(value, str):
        return check_not_blank(value, name)
    if not is_whole(value, -MAX_INTEGER, MAX_INTEGER):
        raise InvalidDataError(
            name, f"{value!r:.60} is not an id", "text or an integer of 64 bits, such as str(uuid)"
        )
    return value


def check_type(value: object) -> str:
    """Return `value` if it is a valid entity type; raise `InvalidDataError` otherwise."""
    text = check_text(value, "type")
    if not re.fullmatch(r"[^\W\d]\w*(?:[.-]\w+)*", text):
        raise InvalidDataError(
            "type",
            f"{text!r:.60} is not a valid name",
            "letters, digits and _, parts joined by . or -, such as meal_plans",
        )
    return text


def check_names(value: Mapping[str, str]) -> Mapping[str, str]:
    """Return a copy of the caller's names for types, after checking that refs can use them."""
    if not isinstance(value, Mapping):
        raise InvalidDataError(
            "ref_names", f"{type(value).__name__} is not a mapping", "a mapping of types to names"
        )
    for kind, name in value.items():
        if not re.fullmatch(r"[^\W\d]\w*", check_text(name, f"ref_names.{check_type(kind)}")):
            raise InvalidDataError(
                f"ref_names.{kind}",
                f"{name!r:.60} is not a valid name",
                "letters, digits and _, such as meal_plan",
            )
    return FrozenDict(value)


def is_ref(_: object, attribute: "Attribute[str]", value: object) -> None:
    """Validate a field that holds a ref; it is blank where the reader may not see the ref."""
    if check_text(value, attribute.name) and parse_ref(str(value)) is None:
        raise InvalidDataError(
            attribute.name, f"{value!r:.60} is not a ref", "a name and a number, such as recipe_1"
        )


def is_type(_: object, _attribute: "Attribute[str]", value: object) -> None:
    """Validate a field that holds an entity type."""
    check_type(value)


@define(slots=False, eq=False)
class RefRefusedError(CallerError, ValueError):
    """Raised for an action that the entity behind a known ref does not allow."""

    ref: str
    problem: str
    legal: str
    path: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return advised(f"{where}ref {self.ref!r} {self.problem}", self.legal)
