"""Write the JSON Schema of a compression receipt, for readers in other languages.

Usage: python .ci/receipt_schema.py

The schema is generated from the classes and their docstrings, and shipped beside them;
`polycontext.polynomial.journal.receipt_schema` reads it.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from inspect import getdoc, isclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from attrs import fields, has

from polycontext.linearity import ResourceClass
from polycontext.polynomial.journal import CompressionReceipt
from polycontext.polynomial.journal.receipts import SCHEMA_FILE
from polycontext.pressure import Reach, SummaryUsage

SHIPPED = Path(__file__).resolve().parents[1] / "polynomial" / "journal"

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    Reach: {"type": "object", "description": "The options that differ from the defaults."},
}
_NAMED: dict[str, dict[str, Any]] = {
    "id": {"pattern": "^c[0-9]+$"},
    "digest": {"pattern": "^[0-9a-f]{32}$"},
    "resource_class": {"enum": [each.name for each in ResourceClass]},
    "lines": {"items": {"type": "integer", "minimum": 1}},
}
"""What the types of these fields do not say."""
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
_SECTION = re.compile(r"\n(?:\w+:\n|>>> )")


def receipt_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a receipt."""
    definitions: dict[str, Any] = {}
    root = _object_schema(CompressionReceipt, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": CompressionReceipt.__name__,
        **root,
        "$defs": definitions,
    }


def write_json_schema(folder: Path) -> None:
    """Write the schema into `folder` under the name by which it is shipped."""
    text = json.dumps(receipt_schema(), indent=2) + "\n"
    (folder / SCHEMA_FILE).write_text(text, encoding="utf-8")


def _object_schema(cls: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    doc = getdoc(cls) or ""
    described = {name: _flat(text) for name, text in _ATTRIBUTE.findall(doc)}
    types = get_type_hints(cls)
    names = [each.name for each in fields(cls)]
    properties = {
        name: {
            **_value_schema(types[name], definitions),
            **_NAMED.get(name, {}),
            **({"description": described[name]} if name in described else {}),
        }
        for name in names
    }
    return {
        "type": "object",
        "description": _flat(_SECTION.split(doc)[0]),
        "properties": properties,
        # Calls are written without the fields that are 0.
        "required": [] if cls is SummaryUsage else names,
        "additionalProperties": False,
    }


def _value_schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    given = get_args(kind)
    if NoneType in given:
        return {"anyOf": [_value_schema(given[0], definitions), {"type": "null"}]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _value_schema(given[0], definitions)}
    if get_origin(kind) is Mapping:
        return {"type": "object", "additionalProperties": _value_schema(given[1], definitions)}
    if isclass(kind) and issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    assert has(kind), kind
    name = kind.__name__.removesuffix("Receipt").removeprefix("Summary").lower()
    if name not in definitions:
        definitions[name] = {}  # keeps its place before those that it refers to
        definitions[name] = _object_schema(kind, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _flat(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    write_json_schema(SHIPPED)
