"""A strict codec for all data that is read from outside; the only module that uses cattrs.

A package creates one converter with `strict_converter`, reads with `structured` and writes with
`to_text`. Values are never coerced and unknown fields are refused. An error names the first fault
and its path. Import this module lazily, when the first text is read or written, so that importing a
package does not load it.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from math import isfinite
from operator import is_
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import orjson
from attrs import NOTHING, fields, has
from cattrs import (
    AttributeValidationNote,
    ClassValidationError,
    Converter,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.cols import mapping_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from .errors import InvalidDataError, safe_repr
from .json_data import EMPTY, INTEGERS, FrozenDict, check_text, freeze_object, thaw, under

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]


def strict_converter(
    *,
    complete: bool = False,
    immutable: bool = False,
    nullable: bool = False,
    sparse: Collection[type] = (),
    unions: Mapping[Any, str] | None = None,
) -> Converter:
    """Return a converter that coerces nothing and refuses unknown and missing fields.

    Records are attrs classes; a field that ends in an underscore (`class_`) is written without it.
    Datetimes are ISO 8601 with a time zone. An enum with string values is written by value, any
    other by name. ``Mapping[str, Any]`` and `FrozenDict` hold JSON data, checked by `freeze`.

    Args:
        complete: require fields that have a default, too, so that a default never replaces lost
            data.
        immutable: read mappings as `FrozenDict`, and return a tuple or one of these unchanged if it
            holds what it should.
        nullable: read a null as absent if the field has a default.
        sparse: records whose fields are omitted when they have their default.
        unions: union types, each with the key that holds the name of the class.
    """
    converter = Converter()
    # The hooks of str and int also get their subclasses: without that, an enum of strings would be
    # read as a string.
    for kind, hook in (
        (str, _text),
        (int, _whole),
        (float, _number),
        (bool, _truth),
        (Enum, _member),
    ):
        converter.register_structure_hook(kind, hook)
    converter.register_structure_hook(datetime, _moment)
    converter.register_unstructure_hook(datetime, datetime.isoformat)
    converter.register_structure_hook_factory(
        has,
        lambda kind: _record_reader(kind, converter, complete=complete, nullable=nullable),
    )
    # Without this hook, records that are also mappings would be written as mappings.
    converter.register_unstructure_hook_factory(
        has, lambda kind: _record_writer(kind, converter, sparse=kind in sparse)
    )
    converter.register_structure_hook_func(_has_origin(Literal), _literal)
    converter.register_structure_hook_factory(
        _has_origin(list, tuple), lambda kind: _list_reader(kind, converter, shared=immutable)
    )
    # JSON data has its own hook below, which takes precedence.
    converter.register_structure_hook_factory(
        _has_origin(dict, Mapping), lambda kind: _table_reader(kind, converter, shared=immutable)
    )
    converter.register_structure_hook_func(_is_json_object, lambda value, _: freeze_object(value))
    converter.register_unstructure_hook_func(_is_json_object, thaw)
    for union, tag in (unions or {}).items():
        _configure_union(union, tag, converter)
    return converter


def structured(
    converter: Converter,
    data: object,
    kind: type[T],
    *,
    path: str = "$",
    legal: str = "",
) -> T:
    """Return a `kind` read from JSON data.

    Args:
        converter: the converter to read with.
        data: the JSON data.
        kind: the type to read.
        path: the name of the data in error messages.
        legal: the expected value to state in the error if the record itself refuses the data.

    Raises:
        InvalidDataError: the first fault.
    """
    try:
        return converter.structure(data, kind)
    except _FAULTS as error:
        raise _as_data_error(error, kind, path, legal) from None


def reader(
    converter: Converter, kind: Any, path: str = "", *, default: object = NOTHING
) -> Callable[[Any], Any]:
    """Return a function that reads values of a type as `structured` does, for many values.

    The very object `default` is returned unread.
    """
    hook = converter.get_structure_hook(kind)

    def read(value: Any) -> Any:
        if value is default:
            return value
        try:
            return hook(value, kind)
        except _FAULTS as error:
            raise _as_data_error(error, kind, path) from None

    def read_text(value: Any) -> Any:
        # Most fields are ASCII text, which needs no further look.
        return value if type(value) is str and value.isascii() else read(value)

    return read_text if kind is str else read


_FAULTS = (ClassValidationError, IterableValidationError, TypeError, ValueError, KeyError)


def _as_data_error(
    error: Exception, kind: Any, path: str = "", legal: str = ""
) -> InvalidDataError:
    legal = legal or f"the fields of {getattr(kind, '__name__', kind)}"
    found, what, legal = _first_fault(error, path, legal)
    return InvalidDataError(found if path else found.removeprefix("."), what, legal)


def to_text(converter: Converter, value: object, kind: Any = None) -> str:
    """Return `value` as JSON text; pass `kind` if the type of `value` is a union."""
    return orjson.dumps(converter.unstructure(value, kind or type(value))).decode()


def json_object(
    text: str | bytes,
    *,
    path: str = "$",
    legal: str = "the text of a JSON object",
) -> dict[str, Any]:
    """Return the JSON object in `text`.

    Raises:
        InvalidDataError: the text is not JSON, or not an object.

    >>> json_object('{"a": 1}')
    {'a': 1}
    >>> json_object("[]")
    Traceback (most recent call last):
    polycontext.errors.InvalidDataError: $: list is not an object. Use the text of a \
JSON object.
    """
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidDataError(path, f"not JSON ({error})", legal) from None
    if not isinstance(data, dict):
        raise InvalidDataError(path, f"{type(data).__name__} is not an object", legal)
    return data


def json_value(raw: object, path: str = "$") -> Any:
    """Return the value of JSON text: a string, or bytes in UTF-8.

    Nothing is lost: a key that an object has twice is refused, and integers are exact.

    Raises:
        InvalidDataError: not text, or not JSON (NaN and lone surrogates are not).

    >>> json_value('{"a": 36893488147419103232}')
    {'a': 36893488147419103232}
    >>> json_value('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    polycontext.errors.InvalidDataError: $: not JSON: the key 'a' occurs twice. Use JSON text \
in UTF-8.
    """
    if not isinstance(raw, (str, bytes, bytearray, memoryview)):
        raise InvalidDataError(path, f"{type(raw).__name__} is not JSON text", "bytes or str")
    try:
        data = raw.encode() if isinstance(raw, str) else bytes(raw)
        with suppress(ValueError, TypeError):
            value = orjson.loads(data)
            # orjson drops keys and rounds integers, and then does not write the same text.
            if orjson.dumps(value) == data:
                return value
        value = json.loads(data.decode(), object_pairs_hook=each_once, parse_constant=_refuse)
        if b"\\u" in data:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidDataError(path, f"not JSON: {error}", "JSON text in UTF-8") from None
    return value


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, for `json`; a key that occurs twice raises `ValueError`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!a} occurs twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def is_cut_off(text: str | bytes) -> bool:
    r"""Return whether `text` is only the beginning of JSON, as a crash leaves a file's last line.

    File systems may fill the rest of it with zero bytes.

    >>> is_cut_off('{"role": "us'), is_cut_off(bytes(9)), is_cut_off("{}"), is_cut_off("{role")
    (True, True, False, False)
    """
    whole = text.decode(errors="replace") if isinstance(text, bytes) else text
    whole = whole.strip("\0\r\n\t ")
    try:
        orjson.loads(whole)
    except orjson.JSONDecodeError as error:
        return not whole or error.msg.startswith("unexpected end of data")
    return False


def _first_fault(error: BaseException, path: str, legal: str) -> tuple[str, str, str]:
    if isinstance(error, ClassValidationError | IterableValidationError):
        first = error.exceptions[0]
        return _first_fault(first, _place(first, path), legal)
    if isinstance(error, InvalidDataError):
        inner = error.path
        return (
            f"{path}.{inner}" if inner and not inner.startswith("[") else f"{path}{inner}",
            error.what,
            error.legal or legal,
        )
    return path, str(error) or type(error).__name__, legal


def _place(error: BaseException, path: str) -> str:
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return under(path, _field_key(note.name))
        if isinstance(note, IterableValidationNote):
            return under(path, note.index if isinstance(note.index, int) else str(note.index))
    return path


def _text(value: Any, kind: type) -> Any:
    if kind is not str:
        return _member(value, kind)
    return value if type(value) is str and value.isascii() else check_text(value)


def _whole(value: Any, kind: type) -> Any:
    if kind is not int:
        return _member(value, kind)
    if type(value) is not int or value not in INTEGERS:
        raise InvalidDataError(
            "",
            f"{_shown(value)} is not a whole number of 64 bits",
            f"{INTEGERS.start}..{INTEGERS.stop - 1}",
        )
    return value


def _number(value: Any, _: type[float]) -> float:
    if type(value) not in (int, float) or not isfinite(value):
        raise InvalidDataError("", f"{_shown(value)} is not a number", "a finite number")
    return float(value)


def _truth(value: Any, _: type[bool]) -> bool:
    if type(value) is not bool:
        raise InvalidDataError("", f"{_shown(value)} is not a truth value", "true or false")
    return value


def _member(value: object, kind: Any) -> Enum:
    members = _members(kind)
    if not isinstance(value, str) or value not in members:
        raise InvalidDataError("", f"unknown {_shown(value)}", ", ".join(members))
    return members[value]


@cache
def _members(kind: type[Enum]) -> dict[str, Enum]:
    return {_name_of(member): member for member in kind}


def _name_of(member: Enum) -> str:
    return member.value if isinstance(member, str) else member.name


def _shown(value: object) -> str:
    return (
        f"{safe_repr(value):.60}" if isinstance(value, str | int | float) else type(value).__name__
    )


def _moment(value: object, _: type[datetime]) -> datetime:
    legal = "ISO 8601 with a time zone, such as 2026-01-31T12:00:00+00:00"
    if not isinstance(value, str):
        raise InvalidDataError("", f"{type(value).__name__} is not text", legal)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidDataError("", f"{value!r:.60} is not a moment", legal) from None
    if moment.tzinfo is not UTC and moment.utcoffset() is None:
        raise InvalidDataError("", f"{value!r:.60} is without a time zone", legal)
    return moment


def _literal(value: object, kind: Any) -> object:
    legal = get_args(kind)
    if not any(type(value) is type(known) and value == known for known in legal):
        raise InvalidDataError("", f"{_shown(value)} cannot be read", ", ".join(map(repr, legal)))
    return value


def _is_json_object(kind: Any) -> bool:
    return bool(kind == Mapping[str, Any]) or kind is FrozenDict or get_origin(kind) is FrozenDict


def _has_origin(*origins: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) in origins


def _list_reader(kind: Any, converter: Converter, *, shared: bool) -> Hook:
    made, item = get_origin(kind), get_args(kind)[0]
    hook, is_checked = converter.get_structure_hook(item), shared and has(item)

    def read(value: Any, _: object) -> Any:
        _require(value, (list, tuple), "a list")
        if is_checked and type(value) is made and {*map(type, value)} <= {item}:
            return value  # records were checked when they were created
        try:
            items = made([hook(each, item) for each in value])
        except _FAULTS:
            # Read again to find the place: keeping it would cost more where nothing is wrong.
            items = made([read_at(index, each) for index, each in enumerate(value)])
        is_same = shared and type(value) is made and all(map(is_, items, value))
        return value if is_same else items

    def read_at(index: int, each: Any) -> Any:
        try:
            return hook(each, item)
        except _FAULTS as error:
            raise InvalidDataError(*_first_fault(error, f"[{index}]", "")) from None

    return read


def _table_reader(kind: Any, converter: Converter, *, shared: bool) -> Hook:
    structure: Any = mapping_structure_factory(kind, converter)

    def read(value: Any, _: object) -> Any:
        items = structure(_require(value, Mapping, "an object"), kind)
        if not shared:
            return items
        is_same = type(value) is FrozenDict and all(map(is_, items.values(), value.values()))
        return value if is_same else FrozenDict(items) if items else EMPTY

    return read


def _require(value: object, kind: Any, name: str) -> Any:
    if not isinstance(value, kind):
        raise InvalidDataError("", f"{type(value).__name__} is not {name}", name)
    return value


def _field_key(name: str) -> str:
    return name.removesuffix("_")


def _overrides(kind: Any) -> Any:
    names = (field.name for field in fields(kind) if field.name.endswith("_"))
    return {name: override(rename=_field_key(name)) for name in names}


def _record_reader(kind: Any, converter: Converter, *, complete: bool, nullable: bool) -> Hook:
    structure: Any = make_dict_structure_fn(
        kind, converter, _cattrs_use_linecache=False, **_overrides(kind)
    )
    known = {_field_key(field.name): field.default for field in fields(kind) if field.init}
    needed = [name for name, default in known.items() if complete or default is NOTHING]
    optional = known.keys() - needed
    legal = f"an object with {', '.join(known)}"

    def read_record(value: Any, _: object) -> Any:
        if not isinstance(value, (dict, Mapping)):
            raise InvalidDataError("", f"{type(value).__name__} is not an object", legal)
        if nullable:
            value = {n: v for n, v in value.items() if v is not None or n not in optional}
        for name in needed:
            if name not in value:
                raise InvalidDataError(name, "is missing", legal)
        for name in value:
            if name not in known:
                raise InvalidDataError(under("", str(name)), "is unknown", legal)
        return structure(value, kind)

    return read_record


def _record_writer(kind: Any, converter: Converter, *, sparse: bool) -> Callable[[Any], Any]:
    for enum in _enums_in(*get_type_hints(kind).values()):
        # Registered by class, as `strict_converter` explains, and only once: each registration
        # clears the converter's cache.
        if converter.get_unstructure_hook(enum) is not _name_of:
            converter.register_unstructure_hook(enum, _name_of)
    return make_dict_unstructure_fn(
        kind, converter, _cattrs_omit_if_default=sparse, **_overrides(kind)
    )


def _enums_in(*hints: Any) -> Iterator[type[Enum]]:
    for hint in hints:
        if isinstance(hint, type) and issubclass(hint, Enum):
            yield hint
        yield from _enums_in(*get_args(hint))


def _configure_union(union: Any, tag: str, converter: Converter) -> None:
    kinds = {kind.__name__: kind for kind in get_args(union)}

    def read_member(value: object, _: object) -> Any:
        record = _require(value, Mapping, "an object")
        if tag not in record:
            raise InvalidDataError(tag, "is missing", ", ".join(kinds))
        name, rest = record[tag], {key: item for key, item in record.items() if key != tag}
        if not isinstance(name, str) or name not in kinds:
            raise InvalidDataError(tag, f"unknown {_shown(name)}", ", ".join(kinds))
        return converter.structure(rest, kinds[name])

    converter.register_structure_hook(union, read_member)
    converter.register_unstructure_hook(
        union, lambda member: {**converter.unstructure(member), tag: type(member).__name__}
    )
