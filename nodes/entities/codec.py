"""A registry as JSON-ready data, and back, trusting nothing that it reads. This module alone knows cattrs here."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar, get_origin

from attrs import field, fields, frozen, has
from cattrs import ClassValidationError, Converter, ForbiddenExtraKeysError, transform_error
from cattrs.cols import homogenous_tuple_structure_factory, mapping_structure_factory
from cattrs.gen import make_dict_structure_fn

from polycontext.nodes._values import InvalidRecordError, chosen
from polycontext.nodes.entities._checks import EntityId, check_id, check_names
from polycontext.nodes.entities._records import Entry, Grave, Records
from polycontext.nodes.entities.curation import CurationAction, CurationEntry
from polycontext.nodes.entities.errors import EntityFormatError
from polycontext.nodes.entities.json_object import JsonObject
from polycontext.nodes.entities.snapshot import EntityStatus

SCHEMA = "polycontext.entities"
SCHEMA_VERSION = 1

_LEGAL = "what to_dict returned"

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def _are_names(value: Mapping[str, str]) -> None:
    check_names(value)


@frozen
class Document:
    """Hold what is stored of a registry; the index of ids follows from it."""

    schema: str
    version: int
    ref_names: dict[str, str] = field(validator=lambda _, __, names: _are_names(names))
    counters: dict[str, int]
    entities: tuple[Entry, ...]
    tombstones: tuple[Grave, ...]
    aliases: dict[str, str]
    log: tuple[CurationEntry, ...]


def encode(ref_names: Mapping[str, str], records: Records, log: tuple[CurationEntry, ...]) -> dict[str, Any]:
    """Return a registry as JSON-ready data, ids included: it is for a store, never for a prompt."""
    entities, tombstones = tuple(records.entries.values()), tuple(records.graves.values())
    counters, aliases = dict(records.counters), dict(records.aliases)
    document = Document(SCHEMA, SCHEMA_VERSION, dict(ref_names), counters, entities, tombstones, aliases, log)
    data: dict[str, Any] = _CONVERTER.unstructure(document)
    return data


def decode(data: object) -> Document:
    """Return what `encode` wrote; whether it can be true is for `restored` to say.

    Raises:
        EntityFormatError: naming the path of the first fault: another schema or version, a missing,
            unknown or wrongly typed field.
    """
    if not isinstance(data, Mapping):
        raise EntityFormatError("$", f"{type(data).__name__} is no object", _LEGAL)
    for name, known in (("schema", SCHEMA), ("version", SCHEMA_VERSION)):
        if type(data.get(name)) is not type(known) or data[name] != known:
            raise EntityFormatError(f"$.{name}", f"{data.get(name)!r:.60} cannot be read", repr(known))
    try:
        return _CONVERTER.structure(data, Document)
    except (ClassValidationError, TypeError, ValueError) as error:
        problem, _, path = transform_error(error, format_exception=_fault)[0].rpartition(" @ ")
        raise EntityFormatError(path, problem, _LEGAL) from None


def _fault(error: BaseException, _kind: type | None = None) -> str:
    match error:
        case ForbiddenExtraKeysError():
            return f"unknown fields {', '.join(sorted(map(str, error.extra_fields)))}"
        case InvalidRecordError():
            return f"{error.field} {error.problem} (legal: {error.legal})"
        case _:
            return str(error)


def _strict(kind: type[T]) -> Callable[[object, object], T]:
    def structure(value: object, _: object) -> T:
        if type(value) is not kind:
            raise TypeError(f"{value!r:.60} is no {kind.__name__}")
        return value

    return structure


def _member(value: object, enum: type[E]) -> E:
    return chosen(enum, enum.__name__, _strict(str)(value, str))


def _is_table(kind: Any) -> bool:
    return get_origin(kind) is dict


def _table(kind: Any, converter: Converter) -> Callable[[object, object], Any]:
    structure = mapping_structure_factory(kind, converter)
    return lambda value, _: structure(_collection(value, Mapping), kind)


def _is_row(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _row(kind: Any, converter: Converter) -> Callable[[object, object], Any]:
    structure = homogenous_tuple_structure_factory(kind, converter)
    return lambda value, _: structure(_collection(value, list | tuple), kind)


def _collection(value: object, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} is no {'object' if kind is Mapping else 'list'}")
    return value


def _is_id(kind: Any) -> bool:
    return kind in (EntityId, EntityId | None)


def _id(value: object, _: object) -> EntityId | None:
    return None if value is None else check_id(value)


def _record(kind: type[T], converter: Converter) -> Callable[[object, object], T]:
    """Return what reads a record whose every field stands there: a default must not fill in for what was lost."""
    structure = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, _cattrs_use_linecache=False)
    names = [attribute.name for attribute in fields(kind)]  # type: ignore[arg-type]

    def read_record(value: object, _: object) -> T:
        missing = [name for name in names if name not in _collection(value, Mapping)]
        if missing:
            raise ValueError(f"{', '.join(missing)} missing")
        return structure(_collection(value, Mapping), kind)

    return read_record


def _converter() -> Converter:
    converter = Converter()
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _strict(kind))
    converter.register_structure_hook_factory(has, _record)
    converter.register_structure_hook_factory(_is_table, _table)
    converter.register_structure_hook_factory(_is_row, _row)
    for enum in (EntityStatus, CurationAction):
        # By class: without hooks of its own an enum of strings is taken for a string.
        converter.register_structure_hook(enum, _member)
        converter.register_unstructure_hook(enum, lambda member: member.value)
    converter.register_structure_hook_func(_is_id, _id)
    converter.register_structure_hook(JsonObject, lambda value, _: JsonObject(value))
    converter.register_unstructure_hook(JsonObject, JsonObject.thawed)
    return converter


_CONVERTER = _converter()
