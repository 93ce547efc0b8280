"""The base class of all records of an AgentContext.

A record is immutable, and the annotations of its fields say what they hold. A field needs no more
than ``name: annotation = default``. The checks run once, when a record is created by a caller, by
the decoder or by the guard.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from attrs import Attribute, evolve, field, fields, frozen

from polycontext.base import InvalidDataError, similar
from polycontext.base.json_data import FrozenDict, under

from .kinds import Kind, Shape, field_reader, json_name, kind_of

R = TypeVar("R", bound="Record")


def _add_checks(_cls: type, attributes: "list[Attribute[Any]]") -> "list[Attribute[Any]]":
    """Give every field the check of its annotation (an attrs field transformer)."""
    made = []
    for each in attributes:
        annotation: Any = each.type
        reader = field_reader(annotation, json_name(each.name), each.default)
        made.append(each.evolve(converter=reader))
    return made


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[R]) -> type[R]:
    """Make a subclass of `Record` immutable, and check its fields by their annotations."""
    return frozen(cls, slots=False, field_transformer=_add_checks)


@frozen(slots=False)
class Record:
    """Named values that never change."""

    _renamed: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The names in JSON of fields that have another name there, each with the field's."""

    def __init_subclass__(cls) -> None:
        names = ((json_name(name), name) for name in cls.__annotations__)
        cls._renamed = tuple(each for each in names if each[0] != each[1])

    @classmethod
    def from_json(cls, value: Any, _: object = None) -> Self:
        """Return the record that a JSON object describes; missing fields have their defaults.

        A record is returned unchanged.

        Raises:
            InvalidDataError: not an object, an unknown field, or a value of another type.
        """
        if type(value) is cls:
            return value
        if type(value) is not dict and not isinstance(value, Mapping):
            raise InvalidDataError(
                "",
                f"{type(value).__name__} is not an object",
                f"an object with {', '.join(layout(cls).attributes)}",
            )
        held = value
        for name, attribute in cls._renamed:
            if attribute in held:
                refuse_unknown(cls, value)
            if name in held:
                held = {**held, attribute: held[name]}
                del held[name]
        try:
            return cls(**held)
        except TypeError:
            # attrs does not name the unknown field.
            refuse_unknown(cls, value)
            raise

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


@frozen
class Layout:
    """The fields of a record class.

    `kinds` and `attributes` are by JSON name, `marks` says which empty values are written, `arrays`
    lists the arrays, and `get` reads all fields, of which there are several.
    """

    kinds: Mapping[str, Kind]
    attributes: Mapping[str, str]
    marks: tuple[tuple[str, bool], ...]
    arrays: tuple[tuple[str, str], ...]
    get: Callable[[Any], tuple[Any, ...]]


def _layout(cls: type) -> Layout:
    declared: tuple[Any, ...] = fields(cls)
    attributes = {json_name(each.name): each.name for each in declared}
    kinds = {json_name(each.name): kind_of(each.type) for each in declared}
    return Layout(
        kinds=FrozenDict(kinds),
        attributes=FrozenDict(attributes),
        marks=tuple((name, kind.keep_empty) for name, kind in kinds.items()),
        arrays=tuple(
            (name, attributes[name]) for name, kind in kinds.items() if kind.shape is Shape.ARRAY
        ),
        get=attrgetter(*attributes.values()),
    )


# Annotated, because mypy asks of a cached function whether its arguments hash as instances do.
layout: Callable[[type], Layout] = cache(_layout)
"""Return the layout of a record class."""


def json_fields(record: Record) -> dict[str, Any]:
    """Return the fields that JSON shows, one level deep.

    These are all fields that are not empty, and every number, truth value and time.
    """
    shape = layout(type(record))
    values = shape.get(record)
    # Without a call for each field: this is most of the cost of serialising.
    return {
        name: value
        for (name, keep_empty), value in zip(shape.marks, values, strict=True)
        if value or (keep_empty and value is not None)
    }


def with_changes(record: R, /, **changes: Any) -> R:
    """Return the record with some fields changed, by JSON name.

    The others are shared.

    Raises:
        InvalidDataError: as when a record is created.
    """
    refuse_unknown(type(record), changes)
    attributes = layout(type(record)).attributes
    return evolve(record, **{attributes.get(name, name): new for name, new in changes.items()})


def refuse_unknown(cls: type, keys: Iterable[object]) -> None:
    """Raise `InvalidDataError` for the first key that is not a field of `cls`."""
    known = layout(cls).attributes
    for key in keys:
        if key not in known:
            near = similar(key, known)
            raise InvalidDataError(under("", str(key)), "unknown field", ", ".join(near or known))
