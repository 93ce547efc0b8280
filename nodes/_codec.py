"""Records of the context layers as JSON-ready data, and back, trusting nothing that is read. This module alone knows cattrs here."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar, get_origin

from attrs import fields, has
from cattrs import ClassValidationError, Converter, ForbiddenExtraKeysError, transform_error
from cattrs.cols import homogenous_tuple_structure_factory, mapping_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from polycontext.nodes.checks import InvalidRecordError, JsonObject, chosen

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

FAULTS = (ClassValidationError, TypeError, ValueError)
"""What structuring raises for data that are not of the shape asked for."""


def strict_converter(*enums: type[StrEnum]) -> Converter:
    """Return a converter that coerces nothing, and refuses a record with an unknown or a missing field."""
    converter = Converter()
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _strict(kind))
    converter.register_structure_hook_factory(has, _record)
    # Those that are mappings as well would otherwise be written as such.
    converter.register_unstructure_hook_factory(has, make_dict_unstructure_fn)
    converter.register_structure_hook_factory(_is_table, _table)
    converter.register_structure_hook_factory(_is_row, _row)
    for enum in enums:
        # By class: without hooks of its own an enum of strings is taken for a string.
        converter.register_structure_hook(enum, _member)
        converter.register_unstructure_hook(enum, lambda member: member.value)
    converter.register_structure_hook(JsonObject, lambda value, _: JsonObject(value))
    converter.register_unstructure_hook(JsonObject, JsonObject.thawed)
    return converter


def first_fault(error: BaseException) -> tuple[str, str]:
    """Return the path and the problem of the first fault in one of `FAULTS`."""
    problem, _, path = transform_error(error, format_exception=_fault)[0].rpartition(" @ ")
    return path, problem


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
    return get_origin(kind) in (dict, Mapping)


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


def _record(kind: type[T], converter: Converter) -> Callable[[object, object], T]:
    """Return what reads a record whose every field stands there: a default must not fill in for what was lost."""
    structure = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, _cattrs_use_linecache=False)
    names = [attribute.name for attribute in fields(kind)]  # type: ignore[arg-type]

    def read_record(value: object, _: object) -> T:
        missing = [name for name in names if name not in _collection(value, Mapping)]
        if missing:
            raise ValueError(f"missing fields {', '.join(missing)}")
        return structure(_collection(value, Mapping), kind)

    return read_record
