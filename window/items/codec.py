"""Items as JSON, in the shape of the shipped schema, and back, trusting nothing that is read."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, cast

from polycontext.window.items.errors import InvalidItemError, ItemFormatError
from polycontext.window.items.item import ContextItem
from polycontext.window.items.metadata import END_LINE, START_LINE, ItemMetadata, read_metadata

_REQUIRED = ("id", "type", "content", "timestamp")
_KEYS = (*_REQUIRED, "metadata")
_LEGAL = f"an object with {', '.join(_REQUIRED)}, and optionally metadata"


@cache
def item_schema() -> Mapping[str, Any]:
    """Return the JSON Schema (draft 7) of an item, as the package ships it (seed 000)."""
    schema: Mapping[str, Any] = json.loads(
        files("polycontext.window.items").joinpath("context_item.schema.json").read_text(encoding="utf-8")
    )
    return schema


def item_to_dict(item: ContextItem) -> dict[str, Any]:
    """Return an item as JSON-ready data that the schema accepts; the timestamp as Universal Time.

    >>> item_to_dict(ContextItem("x", "text", id="ctx-1", timestamp=0))
    {'id': 'ctx-1', 'type': 'text', 'content': 'x', 'metadata': None, 'timestamp': 0}
    """
    return {
        "id": item.id,
        "type": str(item.type),
        "content": item.content,
        "metadata": _thawed(item.metadata),
        "timestamp": item.universal_time,
    }


def item_from_dict(data: object) -> ContextItem:
    """Return the item that JSON data of the schema's shape hold.

    Absent metadata and null are the same; a whole number may be written as ``5.0``, as JSON Schema has it.

    Law: ``item_from_dict(item_to_dict(item)) == item``.

    Raises:
        ItemFormatError: naming the path of the first fault.
    """
    record = _record(data)
    try:
        metadata = _metadata(record.get("metadata"))
        timestamp = _whole(record["timestamp"], "$.timestamp")
        return ContextItem(cast("str", record["content"]), record["type"], metadata, timestamp=timestamp, id=cast("str", record["id"]))
    except InvalidItemError as error:
        where = f"$.{error.field}"
        raise ItemFormatError(where, error.problem, error.legal) from None


def item_to_json(item: ContextItem) -> str:
    """Return an item as JSON text."""
    return json.dumps(item_to_dict(item), ensure_ascii=False, allow_nan=False)


def item_from_json(text: str | bytes) -> ContextItem:
    """Read what `item_to_json` wrote, or any document of the schema; raise what `item_from_dict` raises."""
    try:
        data = json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError) as error:
        raise ItemFormatError("$", f"no JSON ({error})", "what item_to_json returned") from None
    return item_from_dict(data)


def _no_json(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _record(data: object) -> dict[str, object]:
    if not isinstance(data, dict):
        raise ItemFormatError("$", f"{type(data).__name__} is not an object", _LEGAL)
    record = cast("dict[str, object]", data)
    for key in (*_REQUIRED, *record):
        if key not in record or key not in _KEYS:
            where = f"$.{key}"
            raise ItemFormatError(where, "is missing" if key in _KEYS else "is unknown", _LEGAL)
    return record


def _metadata(value: object) -> ItemMetadata | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ItemFormatError("$.metadata", f"{type(value).__name__} is not an object", "an object, or null")
    record = cast("dict[str, object]", value)
    lines = {key: _whole(record[key], f"$.metadata.{key}") for key in (START_LINE, END_LINE) if key in record}
    return read_metadata(record | lines)


def _whole(value: object, path: str) -> int:
    """Return a float without a fraction as the whole number that JSON Schema takes it for."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, bool) or not isinstance(whole, int):
        raise ItemFormatError(path, f"{value!r:.60} is no whole number", "a whole number")
    return whole


def _thawed(value: Any) -> Any:
    """Return immutable JSON data as what a JSON writer takes."""
    if isinstance(value, Mapping):
        return {key: _thawed(item) for key, item in value.items()}
    return [_thawed(item) for item in value] if isinstance(value, tuple) else value
