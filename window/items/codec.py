"""Conversion of items to and from JSON in the shape of the shipped schema.

Everything that is read is validated.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson
from attrs import frozen

from polycontext.base import InvalidDataError
from polycontext.base.codec import json_object, strict_converter, structured
from polycontext.base.json_data import thaw

from .item import END_LINE, START_LINE, ContextItem, ItemType, read_metadata


@frozen
class _Written:
    """The fields of a document, before the item validates them."""

    id: str
    type: ItemType
    content: str
    timestamp: int
    metadata: Mapping[str, Any] | None = None


_converter = strict_converter()


@cache
def item_schema() -> Mapping[str, Any]:
    """Return the JSON Schema (draft 7) of an item that the package ships (docs/attachments.md)."""
    schema: Mapping[str, Any] = json.loads(
        files("polycontext.window.items").joinpath("context_item.schema.json").read_bytes()
    )
    return schema


def item_to_dict(item: ContextItem) -> dict[str, Any]:
    """Return an item as JSON data that matches the schema, with the timestamp as Universal Time.

    >>> item_to_dict(ContextItem("x", "text", id="ctx-1", timestamp=0))
    {'id': 'ctx-1', 'type': 'text', 'content': 'x', 'metadata': None, 'timestamp': 0}
    """
    return {
        "id": item.id,
        "type": str(item.type),
        "content": item.content,
        "metadata": thaw(item.metadata),
        "timestamp": item.universal_time,
    }


def item_from_dict(data: object) -> ContextItem:
    """Return the item that `data`, JSON data in the shape of the schema, describes.

    Missing metadata and null are equivalent. Whole numbers may be written as ``5.0``, as JSON
    Schema allows.

    Law: ``item_from_dict(item_to_dict(item)) == item``.

    Raises:
        InvalidDataError: The data are invalid; the error names the path of the first fault.
    """
    try:
        written = structured(_converter, _with_whole_numbers(data), _Written)
        metadata = None if written.metadata is None else read_metadata(written.metadata)
        return ContextItem(
            written.content, written.type, metadata, timestamp=written.timestamp, id=written.id
        )
    except InvalidDataError as error:
        raise InvalidDataError(
            error.path.replace("item", "$", 1), error.what, error.legal
        ) from None


def item_to_json(item: ContextItem) -> str:
    """Return an item as JSON text."""
    return orjson.dumps(item_to_dict(item)).decode()


def item_from_json(text: str | bytes) -> ContextItem:
    """Return the item of a JSON document that `item_to_json` wrote or that matches the schema.

    Raises the errors of `item_from_dict`.
    """
    return item_from_dict(json_object(text, legal="what item_to_json returned"))


def _with_whole_numbers(data: Any) -> Any:
    """Return `data` with floats that have no fraction as int, as JSON Schema reads them."""
    if not isinstance(data, Mapping):
        return data
    metadata = data.get("metadata")
    if isinstance(metadata, Mapping):
        data = {**data, "metadata": {**metadata, **_whole(metadata, START_LINE, END_LINE)}}
    return {**data, **_whole(data, "timestamp")}


def _whole(record: Mapping[str, Any], *keys: str) -> dict[str, int]:
    return {
        key: int(record[key])
        for key in keys
        if isinstance(record.get(key), float) and record[key].is_integer()
    }
