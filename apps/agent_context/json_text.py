"""JSON text of records, and when two values are the same: if their JSON is.

1 is not true, 1 is not 1.0, and the order of keys does not matter.
"""

from collections.abc import Sequence
from itertools import compress, count
from operator import is_not
from typing import Any

import orjson

from polycontext.base.json_data import FrozenDict

from .record_base import Record, json_fields

_OPTIONS = orjson.OPT_UTC_Z


def dumps(value: Any) -> bytes:
    """Return a record, or immutable JSON data, as compact JSON."""
    return orjson.dumps(value, _plain, _OPTIONS)


def canonical(value: Any) -> bytes:
    """Return a record, or immutable JSON data, as JSON with sorted keys: one value, one text."""
    return orjson.dumps(value, _plain, _OPTIONS | orjson.OPT_SORT_KEYS)


def to_data(value: Any) -> Any:
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
