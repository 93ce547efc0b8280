"""Journal events to JSON and back, strictly. This module is the only one that knows cattrs here."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar, get_origin

import orjson
from cattrs import ClassValidationError, Converter, ForbiddenExtraKeysError, IterableValidationError, transform_error
from cattrs.cols import homogenous_tuple_structure_factory, list_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn
from cattrs.strategies import configure_tagged_union

from polycontext.linearity import InvalidDataError, ResourceClass
from polycontext.polynomial.journal.events import Event
from polycontext.polynomial.state import ContextState
from polycontext.pressure import Edit, Reach, Signals
from polycontext.window import Part, Splice, ToolCall, Turn

T = TypeVar("T")


def _strict(kind: type[T]) -> Any:
    def structure(value: object, _: type[T]) -> T:
        if type(value) is not kind:
            raise TypeError(f"{value!r:.60} is no {kind.__name__}")
        return value

    return structure


def _number(value: object, _: type[float]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.60} is no number")
    return float(value)


def _thawed(value: Any) -> Any:
    """Return immutable JSON data as what a JSON writer takes."""
    if isinstance(value, Mapping):
        return {key: _thawed(item) for key, item in value.items()}
    return [_thawed(item) for item in value] if isinstance(value, list | tuple) else value


def _mapping(value: object, _: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.60} is no object")
    return value


def _is_json_object(kind: Any) -> bool:
    return bool(kind == Mapping[str, Any])


def _time(value: object, _: type[datetime]) -> datetime:
    return datetime.fromisoformat(_strict(str)(value, str))


def _resource_class(value: object, _: type[ResourceClass]) -> ResourceClass:
    return ResourceClass[_strict(str)(value, str)]


def _state(value: object, _: type[ContextState]) -> ContextState:
    # Without a hook of its own an enum of strings would be taken for a string, by the hook of its base.
    return ContextState(_strict(str)(value, str))


def _is_list(kind: Any) -> bool:
    return get_origin(kind) in (list, tuple)


def _list_factory(kind: Any, converter: Converter) -> Any:
    make = list_structure_factory if get_origin(kind) is list else homogenous_tuple_structure_factory
    structure = make(kind, converter)
    return lambda value, _: structure(_strict(list)(value, list), kind)


def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _strict(kind))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(datetime, _time)
    converter.register_unstructure_hook(datetime, datetime.isoformat)
    converter.register_structure_hook(ContextState, _state)
    converter.register_structure_hook(ResourceClass, _resource_class)
    converter.register_unstructure_hook(ResourceClass, lambda c: c.name)
    converter.register_structure_hook_factory(_is_list, _list_factory)
    converter.register_structure_hook_func(_is_json_object, _mapping)
    converter.register_unstructure_hook_func(_is_json_object, _thawed)
    for record in (ToolCall, Part, Turn, Splice, Edit, Reach, Signals):
        converter.register_structure_hook(record, make_dict_structure_fn(record, converter, _cattrs_forbid_extra_keys=True))
        converter.register_unstructure_hook(record, make_dict_unstructure_fn(record, converter, _cattrs_omit_if_default=True))
    configure_tagged_union(Event, converter, tag_name="event")
    return converter


CONVERTER = _converter()


def to_text(value: Any, kind: Any = None) -> str:
    """Return `value` as JSON text."""
    return orjson.dumps(CONVERTER.unstructure(value, kind or type(value))).decode()


def json_object(text: str | bytes) -> dict[str, Any]:
    """Read a JSON object; raise `InvalidDataError` if it is none."""
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidDataError("$", f"no JSON ({error})", "what to_json returned") from None
    if not isinstance(data, dict):
        raise InvalidDataError("$", f"{type(data).__name__} is no object", "what to_json returned")
    return data


def structured(data: object, kind: type[T]) -> T:
    """Read a `kind` from JSON data.

    Raises:
        InvalidDataError: not of that shape; names the path of the first fault.
    """
    try:
        return CONVERTER.structure(data, kind)
    except (ClassValidationError, IterableValidationError) as error:
        problem, _, path = transform_error(error, format_exception=_fault)[0].rpartition(" @ ")
        raise InvalidDataError(path or "$", problem, f"the fields of {kind.__name__}") from None
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidDataError("$", _fault(error), f"the fields of {kind.__name__}") from None


def _fault(error: BaseException, _kind: type | None = None) -> str:
    match error:
        case ForbiddenExtraKeysError():
            return f"unknown fields {', '.join(sorted(error.extra_fields))}"
        case KeyError():
            return f"{error} is missing or unknown"
        case _:
            return str(error) or type(error).__name__
