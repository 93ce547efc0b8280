"""The base class of all records of an AgentContext.

A record is immutable, and the annotations of its fields say what they hold. A field needs no more
than ``name: annotation = default``. The checks run once, when a record is created by a caller, by
the decoder or by the guard.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from attrs import NOTHING, Attribute, evolve, field, fields, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import EMPTY, FrozenDict, check_text, freeze_object

from .errors import prefix_path, step_of
from .kinds import Kind, Reader, Shape, json_name, kind_of

R = TypeVar("R", bound="Record")

EXTRAS = "extras"


def _add_checks(_cls: type, attributes: "list[Attribute[Any]]") -> "list[Attribute[Any]]":
    """Give every field the check of its annotation (an attrs field transformer)."""
    names = frozenset(
        json_name(attribute.name) for attribute in attributes if attribute.name != EXTRAS
    )
    found: list[Attribute[Any]] = []
    for each in attributes:
        annotation: Any = each.type
        reader = (
            _extras_reader(names)
            if each.name == EXTRAS
            else field_reader(kind_of(annotation), json_name(each.name), each.default)
        )
        found.append(each.evolve(converter=reader))
    return found


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[R]) -> type[R]:
    """Make a subclass of `Record` immutable, and check its fields by their annotations."""
    return frozen(cls, field_transformer=_add_checks)


def field_reader(kind: Kind, name: str, default: Any = NOTHING) -> Reader:
    """Return a reader of a field that adds the field's name to the path of a fault."""
    read = kind.read

    def read_text(value: Any) -> Any:
        # Most fields are ASCII text: this saves a third of the decoder's time.
        return value if type(value) is str and value.isascii() else read_field(value)

    def read_field(value: Any) -> Any:
        if value is default:
            return value
        try:
            return read(value)
        except InvalidDataError as error:
            raise prefix_path(error, name) from None

    return read_text if read is check_text else read_field


def _extras_reader(names: frozenset[str]) -> Reader:
    """Return a reader of the extras of a record with fields of these names."""

    def read_extras(value: Any) -> Any:
        if value is EMPTY:
            return value
        # The lenient decoder passes a frozen map; a dict comes from a document with a field of this
        # name.
        if type(value) is not FrozenDict:
            raise InvalidDataError(
                EXTRAS,
                "unknown field",
                "a field of the schema; deserialize(..., lenient=True) keeps unknown fields",
            )
        for name in names & value.keys():
            raise InvalidDataError(
                f"{EXTRAS}.{name}", "is a field of the schema", "the value in the field itself"
            )
        return freeze_object(value)

    return read_extras


class MeasureSlot:
    """The slot in which a record caches its measure, which is not part of its value."""

    __slots__ = ("_measure",)


@frozen
class Record(MeasureSlot):
    """Named values that never change.

    `extras` are fields of other releases, kept by the lenient decoder.
    """

    _renamed: ClassVar[bool] = False
    """Whether a field has another name in JSON."""

    extras: Mapping[str, Any] = field(default=EMPTY, kw_only=True, repr=False)

    def __init_subclass__(cls) -> None:
        cls._renamed = any(name != json_name(name) for name in cls.__annotations__)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the record that a JSON object describes; missing fields have their defaults.

        A record is returned unchanged.

        Raises:
            InvalidDataError: not an object, an unknown field, or a value of another type.
        """
        if type(value) is cls:
            return value
        if not isinstance(value, (dict, Mapping)):
            raise InvalidDataError(
                "",
                f"{type(value).__name__} is not an object",
                f"an object with {', '.join(layout(cls).attributes)}",
            )
        if cls._renamed:
            refuse_unknown(cls, value)
            value = {layout(cls).attributes.get(key, key): item for key, item in value.items()}
        try:
            return cls(**value)
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
    lists the arrays, and `get` reads all fields.
    """

    kinds: Mapping[str, Kind]
    attributes: Mapping[str, str]
    marks: tuple[tuple[str, bool], ...]
    arrays: tuple[tuple[str, str], ...]
    get: Callable[[Any], tuple[Any, ...]]


def _layout(cls: type) -> Layout:
    declared = [attribute for attribute in fields(cls) if attribute.name != EXTRAS]
    attributes = {json_name(attribute.name): attribute.name for attribute in declared}
    kinds = {json_name(attribute.name): kind_of(attribute.type) for attribute in declared}
    return Layout(
        kinds=FrozenDict(kinds),
        attributes=FrozenDict(attributes),
        marks=tuple((name, kind.keep_empty) for name, kind in kinds.items()),
        arrays=tuple(
            (name, attributes[name]) for name, kind in kinds.items() if kind.shape is Shape.ARRAY
        ),
        get=attrgetter(*attributes.values(), EXTRAS),
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
    found = {
        name: value
        for (name, keep_empty), value in zip(shape.marks, values, strict=False)
        if value or (keep_empty and value is not None)
    }
    extras = values[-1]
    return found if extras is EMPTY else found | extras.plain()


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
        if key not in known and key != EXTRAS:
            near = get_close_matches(key, known) if isinstance(key, str) else []
            raise InvalidDataError(step_of(key), "unknown field", ", ".join(near or known))
