"""JSON text in and out: the one module that knows the JSON libraries.

orjson writes; the standard library reads, because it keeps large integers exact and shows an object
as its text does, so that both too large a number and a key that stands twice can be refused.

Two values are the same when their JSON is: 1 is not true, 1 is not 1.0, and the order of keys says
nothing.
"""

import json
import re
from enum import Enum
from typing import Any, Literal

import orjson

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import FrozenDict, check_text

from .errors import join_path, step_of, wrong_type
from .record_base import Record, json_fields

_OPTIONS = orjson.OPT_UTC_Z
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""What may escape half of a letter, which no text can hold."""


def dumps(value: Any) -> bytes:
    """Return a record, or immutable JSON data, as compact JSON."""
    return orjson.dumps(value, _plain, _OPTIONS)


def canonical(value: Any) -> bytes:
    """Return a record, or immutable JSON data, as JSON that does not depend on the order of keys: one value, one text."""
    return orjson.dumps(value, _plain, _OPTIONS | orjson.OPT_SORT_KEYS)


def plain(value: Any) -> Any:
    """Return a record, or immutable JSON data, as the dicts and lists of JSON."""
    return orjson.loads(dumps(value))


def _plain(value: Any) -> dict[str, Any]:
    if type(value) is FrozenDict:
        return value.plain()
    assert isinstance(value, Record)
    return json_fields(value)


class Missing(Enum):
    """Stand for no value at all, which null is not."""

    ABSENT = "absent"


ABSENT: Literal[Missing.ABSENT] = Missing.ABSENT


def is_same(left: Any, right: Any) -> bool:
    """Tell whether two values are the same; values that are shared cost nothing."""
    if left is right:
        return True
    # orjson would write ABSENT, which is an enum, as its value.
    return left is not ABSENT and right is not ABSENT and canonical(left) == canonical(right)


def absent_to_none(value: Any) -> Any:
    """Return a value for a reader who knows no `ABSENT`."""
    return None if value is ABSENT else value


def loads(raw: object) -> Any:
    """Return what JSON text says.

    Raises:
        InvalidDataError: no text, not JSON (NaN and infinities are not), invalid UTF-8, a lone
            surrogate, a number of thousands of digits, nested deeper than can be read; a duplicate
            key, with its path.
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
    """Hold an object as its text does: a key as often as it stands there."""


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
