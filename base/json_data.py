"""Validation of JSON data: it is checked once, copied and frozen.

This is the only module that decides what counts as JSON data. Everything that a caller passes in
(metadata, messages, records) is copied here in one pass. The copy cannot change afterwards, and no
writer can fail on it: `orjson` and `json` both write it, and every strict reader reads it back
exactly.

An error names the location of the first fault, such as ``metadata.a[3].b``. A package with its own
error class passes it as `fault`: a callable that creates an exception from the path, the fault and
the legal value.
"""

import re
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from itertools import islice
from math import isfinite
from operator import is_, itemgetter
from typing import Any, NamedTuple, NoReturn, TypeVar

from .errors import InvalidDataError

V = TypeVar("V")

Fault = Callable[[str, str, str], Exception]
"""Creates the exception for a fault from its location, its description and the legal value."""

MAX_DEPTH = 100
"""The most levels of nested objects and lists. Real data have fewer than ten levels. orjson writes
up to 254, and the data checked here are written inside other records."""

INTEGERS = range(-(2**63), 2**64)
"""The integers that orjson writes and strict readers keep exactly."""

STORABLE = "text that encodes as UTF-8"
"""The legal value to name in an error when a text contains a lone surrogate."""

_JSON = "str, finite number, bool, None, list, mapping"
_PLAIN_KEY = re.compile(r"[\w-]{1,60}")
_SHOWN = 60
_KINDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def kind_of(value: object) -> str:
    """Return what a value is in JSON's words, or the name of another type.

    >>> kind_of({}), kind_of(None), kind_of(1j)
    ('an object', 'null', 'complex')
    """
    return _KINDS.get(type(value), type(value).__name__)


_CONTAINER = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|([\[{])', re.DOTALL)


def has_more_containers(data: bytes, most: int) -> bool:
    """Return whether JSON has more than `most` objects and lists, without reading it.

    Read, an empty object takes 24 times the memory of its text.

    >>> has_more_containers(b'[{}, "{[{"]', 1), has_more_containers(b'[{}, "{[{"]', 2)
    (True, False)
    """
    if data.count(b"[") + data.count(b"{") <= most:
        return False
    found = filter(itemgetter(1), _CONTAINER.finditer(data))  # those outside of strings
    return next(islice(found, most, None), None) is not None


class FrozenDict(Mapping[str, V]):
    """An immutable mapping that is shared instead of copied.

    It can be pickled, and hashed if its values can. It equals any mapping with equal items, but a
    list inside the original data is a tuple here.

    >>> soup = FrozenDict({"salt": 1})
    >>> soup == {"salt": 1}, soup
    (True, {'salt': 1})
    >>> soup["salt"] = 2
    Traceback (most recent call last):
    TypeError: 'FrozenDict' object does not support item assignment
    """

    __slots__ = ("_items",)
    _items: dict[str, V]

    def __new__(cls, items: Mapping[str, V] | None = None) -> "FrozenDict[V]":
        """Copy `items`.

        The values must be immutable. `freeze` ensures that; this constructor does not check it.
        """
        return _owned(dict(items or {}))

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    # Mapping provides the methods down to `values`, too, but those of dict are many times faster.
    def __contains__(self, key: object) -> bool:
        return key in self._items

    def keys(self) -> KeysView[str]:
        """Return the keys, in order."""
        return self._items.keys()

    def items(self) -> ItemsView[str, V]:
        """Return keys and values, in order."""
        return self._items.items()

    def values(self) -> ValuesView[V]:
        """Return the values, in order."""
        return self._items.values()

    def plain(self) -> dict[str, V]:
        """Return a dict of the same items, converted one level deep; `thaw` converts all levels."""
        return self._items.copy()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenDict):
            return bool(self._items == other._items)
        return self._items == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name!r} cannot be set: the mapping is frozen")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name!r} cannot be deleted: the mapping is frozen")

    def __copy__(self) -> "FrozenDict[V]":
        return self

    def __deepcopy__(self, _memo: object) -> "FrozenDict[V]":
        return self

    def __reduce__(self) -> tuple[type, tuple[dict[str, V]]]:
        return FrozenDict, (self._items,)


_new = object.__new__
_set_items = FrozenDict.__dict__["_items"].__set__


def _owned(items: dict[str, V]) -> FrozenDict[V]:
    """Return a mapping that owns `items`; the caller must not keep a reference to them."""
    frozen: FrozenDict[V] = _new(FrozenDict)
    _set_items(frozen, items)
    return frozen


EMPTY: FrozenDict[Any] = _owned({})
"""The empty mapping, shared by all users because it is common."""


def freeze(value: Any, path: str = "", fault: Fault = InvalidDataError) -> Any:
    """Return JSON data in immutable form: `FrozenDict` for objects, tuples for lists.

    Data that is already frozen is returned unchanged. Subclasses of str, int and float become plain
    values, and a tuple counts as a list.

    Laws: ``freeze(thaw(freeze(x))) == freeze(x)``, and ``freeze(freeze(x)) is freeze(x)``.

    Raises:
        InvalidDataError: (or the exception that `fault` creates) the data has a value of another
            type, a key that is not text, a lone surrogate, a number that is not finite or not in
            `INTEGERS`, or more than `MAX_DEPTH` levels, as a value that contains itself has.

    >>> freeze({"a": [1, {"b": "c"}]})
    {'a': (1, {'b': 'c'})}
    >>> freeze({"a": [1, {"b": {2}}]}, "metadata")
    Traceback (most recent call last):
    polycontext.errors.InvalidDataError: metadata.a[1].b: set is not JSON data. Use str, \
finite number, bool, None, list, mapping.
    """
    try:
        return _taken(value, MAX_DEPTH, _FROZEN)
    except InvalidDataError as found:
        raise _placed(found, path, fault) from None


def freeze_object(
    value: Any, path: str = "", fault: Fault = InvalidDataError, *, levels: int = MAX_DEPTH
) -> FrozenDict[Any]:
    """Return a JSON object frozen as by `freeze`; raise an error for anything but a mapping.

    Pass `levels` above `MAX_DEPTH` if the object wraps data of that depth.

    >>> freeze_object({}) is EMPTY
    True
    """
    if type(value) is not dict and not isinstance(value, Mapping):
        raise fault(path, f"{type(value).__name__} is not an object", "a mapping of JSON data")
    try:
        return _frozen_object(_taken_object(value, levels - 1, _FROZEN), value)
    except InvalidDataError as found:
        raise _placed(found, path, fault) from None


def copy_json(
    value: Any, path: str = "", fault: Fault = InvalidDataError, *, integers: range = INTEGERS
) -> Any:
    """Return a private copy of JSON data as plain dicts and lists, checked as by `freeze`.

    `integers` can be wider if the copy is not written by orjson.
    """
    try:
        return _taken(
            value, MAX_DEPTH, _FROZEN._replace(objects=_as_is, lists=_as_is, integers=integers)
        )
    except InvalidDataError as found:
        raise _placed(found, path, fault) from None


def thaw(value: Any) -> Any:
    """Return frozen JSON data as plain dicts and lists for a writer.

    You can also pass it as a callback: ``orjson.dumps(value, default=thaw)``.

    >>> thaw(freeze({"a": [1, 2]}))
    {'a': [1, 2]}
    """
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (tuple, list)):
        return [thaw(item) for item in value]
    return (
        {key: thaw(item) for key, item in value.items()}
        if isinstance(value, (dict, Mapping))
        else value
    )


def check_text(text: object, path: str = "", fault: Fault = InvalidDataError) -> str:
    """Return `text` as a plain str if it can be stored as UTF-8; raise an error otherwise.

    The error is the exception that `fault` creates.

    >>> check_text("text " + chr(0xDC80), "content")
    Traceback (most recent call last):
    polycontext.errors.InvalidDataError: content: lone surrogate U+DC80 at character 5. \
Use text that encodes as UTF-8.
    """
    if type(text) is str and text.isascii():
        return text
    try:
        return _text(text)
    except InvalidDataError as found:
        raise _placed(found, path, fault) from None


def under(path: str, step: str | int) -> str:
    """Return the path of the item at a key or an index of `path`.

    >>> under("metadata", "a"), under("", "a"), under("a", 3), under("a", "b c")
    ('metadata.a', 'a', 'a[3]', "a['b c']")
    """
    return path + _step(step) if path else _step(step).removeprefix(".")


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    # Long and unusual keys are truncated and escaped, so that a path can be printed anywhere.
    return f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{step[:_SHOWN]!a}]"


def _fault(what: str, legal: str = _JSON) -> InvalidDataError:
    """Return a fault without a path; its callers add the path from the innermost step outwards."""
    return InvalidDataError("", what, legal)


def _placed(found: InvalidDataError, path: str, fault: Fault) -> Exception:
    return fault(
        path + found.path if path else found.path.removeprefix("."), found.what, found.legal
    )


class _Form(NamedTuple):
    """How to convert objects and lists, and which integers are legal.

    `objects` and `lists` take the converted value and the original one.
    """

    objects: Callable[[dict[str, Any], Any], Any]
    lists: Callable[[list[Any], Any], Any]
    integers: range


def _as_is(made: Any, _given: object) -> Any:
    return made


def _frozen_object(made: dict[str, Any], given: Any) -> FrozenDict[Any]:
    if type(given) is FrozenDict and all(map(is_, made.values(), given.values())):
        return given
    return _owned(made) if made else EMPTY


def _frozen_list(made: list[Any], given: Any) -> tuple[Any, ...]:
    return given if type(given) is tuple and all(map(is_, made, given)) else tuple(made)


_FROZEN = _Form(_frozen_object, _frozen_list, INTEGERS)


def _taken(value: Any, levels: int, form: _Form) -> Any:
    # Naming the usual types first spares them the slow checks.
    kind = type(value)
    if kind is not dict and kind is not list:
        if (
            value is None
            or kind is bool
            or (kind is int and value in form.integers)
            or (kind is float and isfinite(value))
        ):
            return value
        if isinstance(value, str):
            return _text(value)
        if isinstance(value, int):
            return _integer(value, form.integers)
        if isinstance(value, float):
            return _finite(value)
        if not isinstance(value, (list, tuple, Mapping)):
            raise _fault(f"{kind.__name__} is not JSON data")
    if not levels:
        raise _fault("nested too deep, or in itself", f"at most {MAX_DEPTH} levels")
    if isinstance(value, (list, tuple)):
        return form.lists(_taken_list(value, levels - 1, form), value)
    return form.objects(_taken_object(value, levels - 1, form), value)


def _taken_object(value: Mapping[Any, Any], levels: int, form: _Form) -> dict[str, Any]:
    items: dict[str, Any] = {}
    key: object = None
    try:
        for key, item in value.items():
            # Most values are plain text and do not justify a call.
            name = key if type(key) is str and key.isascii() else _key(key)
            items[name] = (
                item if type(item) is str and item.isascii() else _taken(item, levels, form)
            )
    except InvalidDataError as found:
        found.path = (
            _step(key if isinstance(key, str) else f"{type(key).__name__} key") + found.path
        )
        raise
    return items


def _taken_list(value: list[Any] | tuple[Any, ...], levels: int, form: _Form) -> list[Any]:
    items: list[Any] = []
    try:
        for item in value:
            items.append(  # noqa: PERF401  the error needs to know how far it came
                item if type(item) is str and item.isascii() else _taken(item, levels, form)
            )
    except InvalidDataError as found:
        found.path = f"[{len(items)}]{found.path}"
        raise
    return items


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise _fault(f"a key is {type(key).__name__}, not text", "text")
    return _text(key)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _fault(f"{type(value).__name__} is not text", "str")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _fault(
            f"lone surrogate U+{ord(value[error.start]):04X} at character {error.start}", STORABLE
        ) from None
    return str.__str__(value)


def _integer(value: int, legal: range) -> int:
    # The range would be searched linearly for a subclass of int.
    number = int.__index__(value)
    if number not in legal:
        bound = legal.stop.bit_length() - 1
        raise _fault(
            f"an integer of {number.bit_length()} bits",
            f"-2**{legal.start.bit_length() - 1}..2**{bound} - 1",
        )
    return number


def _finite(value: float) -> float:
    if not isfinite(value):
        raise _fault(f"{float.__float__(value)!r} is not JSON data", "a finite number")
    return float.__float__(value)
