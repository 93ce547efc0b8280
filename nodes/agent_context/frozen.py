"""JSON data that cannot be changed: maps are `FrozenMap`, lists are tuples, all the way down.

What is frozen already is returned as it is, so that contexts share what they have in common.
"""

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from math import isfinite
from operator import is_
from re import compile as pattern
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from polycontext.linearity import InvalidDataError
from polycontext.nodes.agent_context.errors import placed

V = TypeVar("V")

MAX_DEPTH = 100
"""How deep JSON data may be nested in one field."""
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
"""The integers that every reader of JSON holds."""

_PLAIN_KEY = pattern(r"[\w-]{1,60}")


class FrozenMap(Mapping[str, V]):
    """Hold a mapping that nobody can change; it can be copied and pickled."""

    __slots__ = ("_view",)
    _view: MappingProxyType[str, V]

    def __new__(cls, items: Mapping[str, V] | None = None) -> "FrozenMap[V]":
        """Copy `items`, whose values must be immutable."""
        return _wrapped(dict(items or {}))

    def __getitem__(self, key: str) -> V:
        return self._view[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._view)

    def __len__(self) -> int:
        return len(self._view)

    def __contains__(self, key: object) -> bool:
        return key in self._view

    def keys(self) -> KeysView[str]:
        """Return the keys, in order."""
        return self._view.keys()

    def items(self) -> ItemsView[str, V]:
        """Return keys and values, in order."""
        return self._view.items()

    def values(self) -> ValuesView[V]:
        """Return the values, in order."""
        return self._view.values()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMap):
            return bool(self._view == other._view)
        return self._view.copy() == dict(other) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # like every mapping

    def __repr__(self) -> str:
        return repr(dict(self._view))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name!r} cannot be set: the map is frozen")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name!r} cannot be deleted: the map is frozen")

    def __copy__(self) -> "FrozenMap[V]":
        return self

    def __deepcopy__(self, _memo: object) -> "FrozenMap[V]":
        return self

    def __reduce__(self) -> tuple[type, tuple[dict[str, V]]]:
        return FrozenMap, (dict(self._view),)

    def thawed(self) -> dict[str, V]:
        """Return a dict of the same items, one level deep."""
        return self._view.copy()


_new = object.__new__
_set_view = FrozenMap.__dict__["_view"].__set__


def _wrapped(items: dict[str, V]) -> FrozenMap[V]:
    """Return a map that owns `items`: nobody else may hold them."""
    frozen: FrozenMap[V] = _new(FrozenMap)
    _set_view(frozen, MappingProxyType(items))
    return frozen


EMPTY: FrozenMap[Any] = _wrapped({})


def frozen_map(items: dict[str, V], given: object) -> FrozenMap[V]:
    """Return `items` frozen, or `given` itself if it is a map of these very values."""
    if type(given) is FrozenMap and all(map(is_, items.values(), given.values())):
        return given
    return _wrapped(items) if items else EMPTY


def frozen_tuple(items: tuple[V, ...], given: object) -> tuple[V, ...]:
    """Return `items`, or `given` itself if it is a tuple of these very values."""
    return given if type(given) is tuple and all(map(is_, items, given)) else items


def step_of(key: object) -> str:
    """Return how a path shows a key of a map: bare where that is readable, quoted otherwise, shortened where it is long."""
    text = key if isinstance(key, str) else f"{type(key).__name__} key"
    return text if _PLAIN_KEY.fullmatch(text) else f"[{text[:60]!a}]"


def storable(value: Any) -> str:
    """Return `value` as a plain string if it is text that encodes as UTF-8; raise `InvalidDataError` otherwise."""
    if type(value) is str and value.isascii():
        return value
    if not isinstance(value, str):
        raise InvalidDataError("", f"{type(value).__name__} is not text", "a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        problem = f"lone surrogate U+{ord(value[error.start]):04X} at character {error.start}"
        raise InvalidDataError("", problem, "text that encodes as UTF-8") from None
    return str.__str__(value)


def integer(value: Any) -> int:
    """Return `value` if it is a whole number of at most 64 bits; raise `InvalidDataError` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidDataError("", f"{type(value).__name__} is not a whole number", "an integer")
    if not MIN_INTEGER <= value <= MAX_INTEGER:
        raise InvalidDataError("", "the number has more than 64 bits", f"{MIN_INTEGER}..{MAX_INTEGER}")
    return int(value)


def finite(value: Any) -> float:
    """Return `value` if it is a finite float; raise `InvalidDataError` otherwise."""
    if not isinstance(value, float):
        raise InvalidDataError("", f"{type(value).__name__} is not a number", "a finite number")
    if not isfinite(value):
        raise InvalidDataError("", f"{float(value)!r} is not JSON", "a finite number")
    return float(value)


def frozen_json(value: Any, depth: int = 0) -> Any:
    """Return JSON data frozen, sharing what is frozen already.

    Raises:
        InvalidDataError: with the path inside `value`: not JSON, text that cannot be stored,
            a number that is not finite or has more than 64 bits, deeper than MAX_DEPTH.
    """
    if value is None or type(value) is bool:
        return value
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, (list, tuple)):
        return _frozen_list(value, depth)
    if isinstance(value, (int, float)):
        return integer(value) if isinstance(value, int) else finite(value)
    if not isinstance(value, (dict, Mapping)):  # naming dict spares most values the slow look at an abstract class
        raise InvalidDataError("", f"{type(value).__name__} is not JSON data", "str, number, bool, None, list or mapping")
    return frozen_object(value, depth)


def _too_deep() -> InvalidDataError:
    return InvalidDataError("", "nested too deep", f"at most {MAX_DEPTH} levels")


def frozen_object(value: Any, depth: int = 0) -> FrozenMap[Any]:
    """Return a JSON object frozen, as `frozen_json` does."""
    if type(value) is not dict and not isinstance(value, Mapping):
        raise InvalidDataError("", f"{type(value).__name__} is not an object", "a mapping from text to JSON data")
    if depth >= MAX_DEPTH:
        raise _too_deep()
    items: dict[str, Any] = {}
    key: object = None
    try:
        for key, item in value.items():
            # Most of what a map holds is plain text: it is not worth a call.
            name = key if type(key) is str and key.isascii() else storable(key)
            items[name] = item if type(item) is str and item.isascii() else frozen_json(item, depth + 1)
    except InvalidDataError as error:
        raise placed(error, step_of(key)) from None
    return frozen_map(items, value)


def _frozen_list(value: list[Any] | tuple[Any, ...], depth: int) -> tuple[Any, ...]:
    if depth >= MAX_DEPTH:
        raise _too_deep()
    items: list[Any] = []
    try:
        for item in value:
            items.append(item if type(item) is str and item.isascii() else frozen_json(item, depth + 1))  # noqa: PERF401  the error needs to know how far it came
    except InvalidDataError as error:
        raise placed(error, f"[{len(items)}]") from None
    return frozen_tuple(tuple(items), value)
