"""The memory of a conversation as JSON, and back, strictly. This module is the only one of the memory that knows cattrs."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import orjson
from attrs import fields, has
from cattrs import ClassValidationError, Converter, ForbiddenExtraKeysError, transform_error
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from polycontext.nodes._values import InvalidRecordError, thawed
from polycontext.nodes.entities import SessionIdRegistry
from polycontext.nodes.history import PendingKind
from polycontext.nodes.memory.archive import ContentArchive
from polycontext.nodes.memory.errors import MemoryFormatError
from polycontext.nodes.reasoning import ConversationPhase, StepKind, ThinkDecision
from polycontext.polynomial.codec import CONVERTER

SCHEMA = 1

M = TypeVar("M")
E = TypeVar("E", bound=StrEnum)


def _member(value: Any, enum: type[E]) -> E:
    if value not in tuple(enum):
        raise ValueError(f"{value!r:.60} is none of {', '.join(enum)}")
    return enum(value)


def _is_record(kind: Any) -> bool:
    return has(kind) and kind.__module__.startswith("polycontext.nodes.")


def _complete(kind: type[M], converter: Converter) -> Callable[[object, object], M]:
    """Return what reads a record whose every field stands there: a default must not fill in for what was lost."""
    structure = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True)
    names = [attribute.name for attribute in fields(kind)]  # type: ignore[arg-type]

    def read_record(value: object, _: object) -> M:
        if not isinstance(value, dict):
            raise TypeError(f"{type(value).__name__} is no object")
        missing = [name for name in names if name not in value]
        if missing:
            raise ValueError(f"missing fields {', '.join(missing)}")
        return structure(value, kind)

    return read_record


def _converter() -> Converter:
    converter = CONVERTER.copy()
    converter.register_structure_hook_factory(_is_record, _complete)
    # It is a mapping as well, and would be written as one.
    converter.register_unstructure_hook(ContentArchive, make_dict_unstructure_fn(ContentArchive, converter))
    for enum in (PendingKind, StepKind, ThinkDecision, ConversationPhase):
        converter.register_structure_hook(enum, _member)
    converter.register_structure_hook(SessionIdRegistry, lambda value, _: SessionIdRegistry.from_dict(value))
    converter.register_unstructure_hook(SessionIdRegistry, lambda registry: registry.to_dict())
    return converter


_CONVERTER = _converter()


def write(memory: object) -> str:
    """Return a record of the memory as JSON text."""
    data = {"schema": SCHEMA, **_CONVERTER.unstructure(memory)}
    return orjson.dumps(data, default=thawed).decode()


def read(text: str | bytes, kind: type[M]) -> M:
    """Read what `write` wrote of a `kind`.

    Raises:
        MemoryFormatError: no JSON, another schema, or a wrong, missing or unknown field; names the path of the first fault.
    """
    legal = f"what {kind.__name__}.to_json returned"
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise MemoryFormatError("$", f"no JSON ({error})", legal) from None
    if not isinstance(data, dict):
        raise MemoryFormatError("$", f"{type(data).__name__} is no object", legal)
    schema = data.pop("schema", None)
    if type(schema) is not int or schema != SCHEMA:
        raise MemoryFormatError("$.schema", f"schema {schema!r:.60} is unknown", str(SCHEMA))
    try:
        return _CONVERTER.structure(data, kind)
    except (ClassValidationError, TypeError, ValueError) as error:
        problem, _, path = transform_error(error, format_exception=_fault)[0].rpartition(" @ ")
        raise MemoryFormatError(path or "$", problem, legal) from None


def _fault(error: BaseException, _kind: type | None = None) -> str:
    match error:
        case ForbiddenExtraKeysError():
            return f"unknown fields {', '.join(sorted(error.extra_fields))}"
        case InvalidRecordError():
            return f"field {error.field!r}: {error.problem}, not {error.legal}"
        case _:
            return str(error) or type(error).__name__
