"""Write the JSON Schema of an AgentContext, for readers in other languages.

Usage: python .ci/agent_schema.py

The schema is generated from the record classes and shipped beside them;
`polycontext.agent_context.json_schema` reads it.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, assert_never

from polycontext.agent_context.codec import SCHEMA_FILE
from polycontext.agent_context.kinds import MAX_INTEGER, Amount, Confidence, Count, Kind, Shape
from polycontext.agent_context.record_base import layout
from polycontext.agent_context.records import SCHEMA_VERSION, AgentContext

SHIPPED = Path(__file__).resolve().parents[1] / "apps" / "agent_context"

_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": -MAX_INTEGER - 1, "maximum": MAX_INTEGER},
    float: {"type": "number"},
    Count: {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER},
    Amount: {"type": "number", "minimum": 0},
    bool: {"type": "boolean"},
    Confidence: {"type": "number", "minimum": 0, "maximum": 1},
    datetime: {"type": "string", "format": "date-time"},
}


def context_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the record classes."""
    root = _object_schema(AgentContext)
    root["properties"]["version"] = {"const": SCHEMA_VERSION}
    records = dict.fromkeys(_records(AgentContext))
    definitions = {record.__name__: _object_schema(record) for record in records}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AgentContext",
        **root,
        "$defs": definitions,
    }


def write_json_schema(folder: Path) -> None:
    """Write the schema into `folder` under the name by which it is shipped."""
    (folder / SCHEMA_FILE).write_text(
        json.dumps(context_schema(), indent=2) + "\n", encoding="utf-8"
    )


def _records(cls: type) -> Iterator[type]:
    for kind in layout(cls).kinds.values():
        record = (kind.item or kind).record
        if record is not None:
            yield record
            yield from _records(record)


def _object_schema(cls: type) -> dict[str, Any]:
    properties = {name: _value_schema(kind) for name, kind in layout(cls).kinds.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _value_schema(kind: Kind) -> dict[str, Any]:
    match kind.shape:
        case Shape.ARRAY:
            assert kind.item is not None
            return {"type": "array", "items": _value_schema(kind.item)}
        case Shape.MAP:
            assert kind.item is not None
            return {"type": "object", "additionalProperties": _value_schema(kind.item)}
        case Shape.OBJECT:
            assert kind.record is not None
            return _or_null({"$ref": f"#/$defs/{kind.record.__name__}"}, kind)
        case Shape.SCALAR:
            return _or_null(_SCALARS[kind.annotation], kind)
        case Shape.JSON:
            return {}
        case _:
            assert_never(kind.shape)


def _or_null(schema: dict[str, Any], kind: Kind) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]} if kind.optional else schema


if __name__ == "__main__":
    write_json_schema(SHIPPED)
