"""The base of everything in an AgentContext: an immutable record whose fields say by annotation what they hold.

Writing ``name: annotation = default`` is all that a field needs. The checks run once, when a
record is made, whether by a caller, by the decoder or by the guard.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from attrs import NOTHING, Attribute, field, fields, frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import EMPTY, FrozenDict, check_text, freeze_object

from .errors import prefix_path, step_of
from .kinds import Kind, Reader, Shape, json_name, kind_of

R = TypeVar("R", bound="Record")

EXTRAS = "extras"


def _add_checks(_cls: type, attributes: "list[Attribute[Any]]") -> "list[Attribute[Any]]":
    """Give every field the check that its annotation asks for (an attrs field transformer)."""
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
    """Make a subclass of `Record` immutable, each field with the check that its annotation asks for."""
    return frozen(cls, field_transformer=_add_checks)


def field_reader(kind: Kind, name: str, default: Any = NOTHING) -> Reader:
    """Return what reads a field: as its kind does, with the field's name in the path of a fault."""
    read = kind.read

    def read_text(value: Any) -> Any:
        # Most fields are text, and most of that is plain: this saves a decoder a third of its time.
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
    """Return what reads the extras of a record with fields of these names."""

    def read_extras(value: Any) -> Any:
        if value is EMPTY:
            return value
        # The lenient decoder sets unknown fields aside frozen; a dict is a document that has a
        # field of this name.
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


class MeasureSlots:
    """Reserve the slots where a record remembers what was measured of it.

    They are no part of its value.
    """

    __slots__ = ("_measure", "_parts")


@frozen
class Record(MeasureSlots):
    """Hold named values that never change.

    `extras` are fields of other releases, kept by the lenient decoder.
    """

    _renamed: ClassVar[bool] = False
    """Whether a field has another name in JSON."""

    extras: Mapping[str, Any] = field(default=EMPTY, kw_only=True, repr=False)

    def __init_subclass__(cls) -> None:
        cls._renamed = any(name != json_name(name) for name in cls.__annotations__)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return the record that a JSON object describes; what it leaves out has its default.

        A record is returned as it is.

        Raises:
            InvalidDataError: no object, an unknown field, a value of another type.
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
            # attrs does not say which name it does not know.
            refuse_unknown(cls, value)
            raise

    def check(self) -> None:
        """Raise `InvalidDataError` if the fields do not go together.

        A class with such a rule says so here.
        """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


@frozen
class Layout:
    """List the fields of a record class: kinds and attributes by JSON name, what to write and how to get it, the arrays among them."""

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


# Annotated: for a cached function mypy asks whether the class hashes as its instances do.
layout: Callable[[type], Layout] = cache(_layout)
"""Return the layout of a record class."""


def json_fields(record: Record) -> dict[str, Any]:
    """Return the fields that JSON shows, one level deep: those that are not empty, and every number, truth value and time."""
    shape = layout(type(record))
    values = shape.get(record)
    # As `change_codec` asks, but without a call for each field: this is most of what serialising
    # costs.
    found = {
        name: value
        for (name, keep_empty), value in zip(shape.marks, values, strict=False)
        if value or (keep_empty and value is not None)
    }
    extras = values[-1]
    return found if extras is EMPTY else found | extras.plain()


def with_changes(record: R, /, **changes: Any) -> R:
    """Return the record with some fields changed, by JSON name.

    The others are shared without being looked at again.

    Law: ``changed(r, **c) == attrs.evolve(r, **c)``.

    Raises:
        InvalidDataError: as making the record would.
    """
    cls = type(record)
    shape = layout(cls)
    refuse_unknown(cls, changes)
    read = {name: field_reader(shape.kinds[name], name)(value) for name, value in changes.items()}
    # The constructor would look at every field again; here only the new ones are.
    twin = object.__new__(cls)
    for name, attribute in shape.attributes.items():
        _set(twin, attribute, read[name] if name in read else getattr(record, attribute))
    _set(twin, EXTRAS, record.extras)
    # What was measured of the other fields goes along.
    _set(
        twin,
        "_parts",
        {name: part for name, part in getattr(record, "_parts", {}).items() if name not in changes},
    )
    twin.check()
    return twin


_set = object.__setattr__


def refuse_unknown(cls: type, keys: Iterable[object]) -> None:
    """Raise `InvalidDataError` for the first key that is no field of `cls`."""
    known = layout(cls).attributes
    for key in keys:
        if key not in known and key != EXTRAS:
            near = get_close_matches(key, known) if isinstance(key, str) else []
            raise InvalidDataError(step_of(key), "unknown field", ", ".join(near or known))
