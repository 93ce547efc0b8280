"""Answer forms: what a node answers, as attrs classes with a JSON Schema and a strict reader.

A field of type `str` holds words of a model, which `forget` erases. A `Ref`, an enum and a number
are no words and stay.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from inspect import signature
from types import GenericAlias, NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from attrs import define, fields, has

from polycontext.agent_context import FORGOTTEN
from polycontext.base import CallerError, InvalidDataError, require
from polycontext.base.codec import each_once, strict_converter, structured
from polycontext.base.json_data import freeze

T = TypeVar("T")

Ref = NewType("Ref", str)
"""A reference, such as ``recipe_1`` or the name of a tool: a text that holds no words."""

_ONE = "one JSON object, and nothing else"
_MOST_BROKEN = 500
"""How many broken objects are passed over to find the answer."""
_BEGIN, _BRACE = re.compile(r'\{\s*["}]'), re.compile("[{}]")


class Form:
    """An answer of a node: `event` is the machine's event that takes it (docs/agents.md).

    Subclass it as a frozen attrs class. `writes` are the node's rights to the shared context, as
    `ContextValidator` takes them.
    """

    event: ClassVar[str]
    writes: ClassVar[tuple[str, ...]] = ()

    def after(self, memory: Any) -> Any:
        """Return the `AgentMemory` after this answer.

        Raise a `CallerError` if the answer does not fit the memory: the model is asked again.
        """
        return memory


@define(slots=False, eq=False)
class AnswerError(CallerError, ValueError):
    """Raised when a node's answer cannot be used, even after one repair. Nothing has changed."""

    node: str
    why: str

    def __str__(self) -> str:
        return (
            f"the answer of node {self.node!r} cannot be used: {self.why} Call run() to ask again."
        )


_SIMPLE: Mapping[Any, str] = {
    str: "string",
    Ref: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
_MADE = (list, tuple, set, frozenset)
_LISTS = (*_MADE, Sequence, Iterable)
_OBJECTS = (dict, Mapping)
_TYPES = (
    "str, int, float, bool, None, an enum, Literal, an attrs class, a list, a mapping, Any, or "
    "several of them with |"
)


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a form or of a field's type.

    Every field is required, as strict structured output demands; one that may be absent may be
    null.

    >>> from attrs import frozen
    >>> @frozen
    ... class Verdict(Form):
    ...     passed: bool
    ...     issue: str | None = None
    >>> schema_of(Verdict)["properties"]["issue"]
    {'anyOf': [{'type': 'string'}, {'type': 'null'}]}
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if origin is Literal or _is_enum(kind):
        values = [*inner] if inner else [_shown(member) for member in kind]
        types = {_SIMPLE[type(value)] for value in values}
        return {**({"type": types.pop()} if len(types) == 1 else {}), "enum": values}
    if _is_union(kind):
        return {"anyOf": [schema_of(each) for each in inner]}
    if (origin or kind) in _LISTS:
        return {"type": "array", "items": schema_of(inner[0] if inner else Any)}
    if isinstance(kind, type) and has(kind):
        return _object({name: schema_of(hint) for name, hint in _hints(kind).items()})
    require("type", kind, (origin or kind) in _OBJECTS or kind is Any, _TYPES)
    return {} if kind is Any else {"type": "object"}


def parameters_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, without `idempotency_key`.

    An argument without a type is a text; one with a default may be null, too.
    """
    schemas = dict[str, Any]()
    for name, each in signature(function, eval_str=True).parameters.items():
        if name == "idempotency_key" or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        schema = schema_of(str if each.annotation is each.empty else each.annotation)
        null = {"type": "null"}
        schemas[name] = schema if each.default is each.empty else {"anyOf": [schema, null]}
    return _object(schemas)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [*properties],
        "additionalProperties": False,
    }


@cache
def _hints(form: type) -> dict[str, Any]:
    hints = get_type_hints(form)
    return {each.name: hints[each.name] for each in fields(form)}


def read_answer(form: type[T], answer: object) -> T:
    """Return the form in a model's answer: JSON data, or a text with one JSON object.

    A field that is null counts as absent if it has a default.

    Raises:
        InvalidDataError: the first fault, with its path.
    """
    data = freeze(answer if isinstance(answer, Mapping) else _parse(_text_of(answer)))
    read: T = read_value(form, data)
    return read


def read_value(kind: Any, data: Any) -> Any:
    """Return JSON data as a value of a type that has a schema.

    Raises:
        InvalidDataError: the first fault, with its path.
    """
    return structured(_CONVERTER, data, kind)


def _text_of(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    raise InvalidDataError("$", f"{type(answer).__name__} is not an answer", "one JSON object")


def _parse(text: str) -> Any:
    found = _objects(text)
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} JSON objects" if found else "the answer has no JSON object"
    raise InvalidDataError("$", what, _ONE)


def _objects(text: str) -> list[Any]:
    """Return the outermost JSON objects in a text that may have other words around them.

    Takes time linear in the text: none of it is decoded twice. Nothing is found inside of an object
    that is broken, which ends where its braces do; one brace more tells that it ended later.
    """
    decoder, found = json.JSONDecoder(object_pairs_hook=each_once), list[Any]()
    end = depth = broken = reached = 0
    while broken < _MOST_BROKEN and (brace := _BRACE.search(text, end)):
        begin, end = brace.span()
        if depth or begin < reached or not _BEGIN.match(text, begin):
            depth += 1 if brace[0] == "{" else -1
            if depth < 0 and broken:
                return []
            depth, broken = max(depth, 0), broken or depth
            continue
        try:
            data, end = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as error:  # It counts the lines before it, hence the bound.
            depth, reached, broken = 1, error.pos, broken + 1
        except (ValueError, RecursionError) as error:
            raise InvalidDataError("$", str(error), _ONE) from None
        else:
            found.append(data)
    return found


def _member_for(kinds: Iterable[Any], data: Any) -> Any:
    """Return the first type of a union that reads the data, or the first of all but None."""
    present = [each for each in kinds if each is not NoneType]
    for each in present if len(present) > 1 else ():
        try:
            read_value(each, data)
        except InvalidDataError:
            continue
        return each
    return present[0]


def _read_union(data: Any, kind: Any) -> Any:
    inner = get_args(kind)
    if data is None and NoneType in inner:
        return None
    return _CONVERTER.structure(data, _member_for(inner, data))


def _read_list(data: Any, kind: Any) -> Any:
    """Return a list as its declared type; a string is not split into letters."""
    inner, made = get_args(kind), get_origin(kind) or kind
    if not isinstance(data, list | tuple):
        raise InvalidDataError("", f"{type(data).__name__} is not a list", "a list")
    each = inner[0] if inner else Any
    listed: Any = GenericAlias(tuple, (each, ...))
    held = _CONVERTER.structure(data, listed)
    return made(held) if made in _MADE else held


def _read_object(data: Any, _: Any) -> Any:
    if not isinstance(data, Mapping):
        raise InvalidDataError("", f"{type(data).__name__} is not an object", "an object")
    return dict(data)


def _is_loose_list(kind: Any) -> bool:
    """Return whether a type is one of `_LISTS` that the codec does not read, or reads loosely."""
    return (get_origin(kind) or kind) in _LISTS and get_origin(kind) not in (list, tuple)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _is_set(kind: Any) -> bool:
    return (get_origin(kind) or kind) in (set, frozenset)


_CONVERTER = strict_converter(nullable=True)
_CONVERTER.register_structure_hook_func(
    lambda kind: kind is Ref, lambda data, _: _CONVERTER.structure(data, str)
)
_CONVERTER.register_structure_hook_func(_is_union, _read_union)
_CONVERTER.register_structure_hook_func(_is_loose_list, _read_list)
_CONVERTER.register_structure_hook_func(lambda kind: kind in _OBJECTS, _read_object)
_CONVERTER.register_unstructure_hook_func(
    _is_set, lambda held: [_CONVERTER.unstructure(each) for each in held]
)


def data_of(form: object) -> dict[str, Any]:
    """Return the JSON data of a form, which `read_answer` reads."""
    data: dict[str, Any] = _CONVERTER.unstructure(form)
    return data


def without_words(kind: Any, data: Any, is_gone: Callable[[str], bool]) -> Any:
    """Return a form's JSON data with "[forgotten]" for each of its words that `is_gone`."""
    inner = get_args(kind)
    if data is None or (kind in _SIMPLE and kind is not str) or _is_enum(kind):
        return data
    if get_origin(kind) is Literal:
        return data
    if _is_union(kind):
        return without_words(_member_for(inner, data), data, is_gone)
    if get_origin(kind) in _LISTS:
        return [without_words(inner[0], each, is_gone) for each in data]
    if isinstance(kind, type) and has(kind):
        hints = _hints(kind)
        return {name: without_words(hints[name], each, is_gone) for name, each in data.items()}
    return _blanked(data, is_gone)


def _shown(member: Enum) -> str:
    """Return how the codec writes a member."""
    return member.value if isinstance(member, str) else member.name


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def _blanked(data: Any, is_gone: Callable[[str], bool]) -> Any:
    """Return JSON data of any shape without the texts that are gone; keys stay."""
    if isinstance(data, str):
        return FORGOTTEN if data and is_gone(data) else data
    if isinstance(data, Mapping):
        return {name: _blanked(each, is_gone) for name, each in data.items()}
    return [_blanked(each, is_gone) for each in data] if isinstance(data, list | tuple) else data
