"""JSON text in and out: the one module that knows the JSON libraries.

jiter reads, because it refuses duplicate keys and keeps large integers exact, so that they can
be refused instead of rounded. orjson writes.
"""

from typing import Any

import jiter
import orjson

from polycontext.nodes.agent_context._duplicates import path_of_duplicate
from polycontext.nodes.agent_context._frozen import FrozenMap, storable
from polycontext.nodes.agent_context._record import Record, written
from polycontext.nodes.agent_context.errors import ContextFormatError

_OPTIONS = orjson.OPT_UTC_Z


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
    if type(value) is FrozenMap:
        return value.thawed()
    assert isinstance(value, Record)
    return written(value)


def loads(raw: object) -> Any:
    """Return what JSON text says.

    Raises:
        ContextFormatError: no text, not JSON (NaN and infinities are not), invalid UTF-8, a lone
            surrogate, a number of thousands of digits, nested deeper than 200 levels, all
            with line and column; a duplicate key, with its path.
    """
    octets = _octets(raw)
    try:
        return jiter.from_json(octets, allow_inf_nan=False, cache_mode="keys", catch_duplicate_keys=True)
    except ValueError as error:
        if "duplicate key" in str(error):
            raise ContextFormatError(path_of_duplicate(octets), "duplicate key", "every key once") from None
        raise ContextFormatError("", f"not JSON: {error}", "JSON text in UTF-8") from None


def _octets(raw: object) -> bytes:
    if isinstance(raw, str):
        return storable(raw).encode()
    if not isinstance(raw, (bytes, bytearray, memoryview)):
        raise ContextFormatError("", f"{type(raw).__name__} is not JSON text", "bytes or str")
    return bytes(raw)
