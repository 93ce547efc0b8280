"""JSON text: the only module that uses the JSON libraries.

orjson writes. The standard library reads, because it keeps large integers exact and reports every
key of an object as written, so that numbers that are too large and duplicate keys can be refused.

Two values are the same if their JSON is: 1 is not true, 1 is not 1.0, and the order of keys does
not matter.
"""

import json
import re
from collections.abc import Sequence
from itertools import compress, count
from operator import is_not
from typing import Any

import orjson

from polycontext.base import InvalidDataError
from polycontext.base.json_data import FrozenDict, check_text

from .errors import join_path, step_of, wrong_type
from .record_base import Record, json_fields

_OPTIONS = orjson.OPT_UTC_Z
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that may be half of a character, which no text can contain."""


def dumps(value: Any) -> bytes:
    """Return a record, or immutable JSON data, as compact JSON."""
    return orjson.dumps(value, _plain, _OPTIONS)


def canonical(value: Any) -> bytes:
    """Return a record, or immutable JSON data, as JSON with sorted keys: one value, one text."""
    return orjson.dumps(value, _plain, _OPTIONS | orjson.OPT_SORT_KEYS)


def plain(value: Any) -> Any:
    """Return a record, or immutable JSON data, as plain dicts and lists."""
    return orjson.loads(dumps(value))


def _plain(value: Any) -> dict[str, Any]:
    if type(value) is FrozenDict:
        return value.plain()
    assert isinstance(value, Record)
    return json_fields(value)


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are the same; values that are shared cost nothing."""
    return left is right or canonical(left) == canonical(right)


def shared_start(source: Sequence[Any], target: Sequence[Any]) -> int:
    """Return the number of items that are the same at the beginning."""
    # Identical items are skipped in C; only the others are compared by value, which costs two JSON
    # texts.
    for index in compress(count(), map(is_not, source, target)):
        if not is_same(source[index], target[index]):
            return index
    return min(len(source), len(target))


def loads(raw: object) -> Any:
    """Return the value of JSON text.

    Raises:
        InvalidDataError: not text, not JSON (NaN and infinities are not), invalid UTF-8, a lone
            surrogate, a number of thousands of digits, or nesting that is too deep to read; a
            duplicate key, with its path.
    """
    text = _text(raw)
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_reject_constant)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except KeyError:
        path = _path(json.loads(text, object_pairs_hook=_Pairs)) or ""
        raise InvalidDataError(path, "duplicate key", "every key once") from None
    except (ValueError, RecursionError) as error:
        raise InvalidDataError("", f"not JSON: {error}", "JSON text in UTF-8") from None
    return value


def _reject_constant(constant: str) -> None:
    raise ValueError(constant)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise KeyError
    return found


def _text(raw: object) -> str:
    if isinstance(raw, str):
        return check_text(raw)
    if not isinstance(raw, (bytes, bytearray, memoryview)):
        raise wrong_type(raw, "JSON text", "bytes or str")
    try:
        return bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise InvalidDataError("", f"not JSON: {error}", "JSON text in UTF-8") from None


class _Pairs(list[tuple[str, Any]]):
    """An object with all its keys as written, duplicates included."""


def _path(value: object) -> str | None:
    if not isinstance(value, list):
        return None
    pairs: list[tuple[str, Any]] = (
        value
        if isinstance(value, _Pairs)
        else [(f"[{index}]", item) for index, item in enumerate(value)]
    )
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return step_of(key)
        seen.add(key)
    for key, item in pairs:
        found = _path(item)
        if found is not None:
            return join_path(step_of(key) if isinstance(value, _Pairs) else key, found)
    return None
