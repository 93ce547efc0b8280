"""Conversion of contexts to and from JSON text, with strict checks of everything read."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from polycontext.base.json_data import freeze_object

from .errors import at_path, wrong_type
from .json_text import dumps, loads
from .kinds import Kind, Shape
from .migrations import MIGRATIONS, MigrationRegistry
from .record_base import EXTRAS, layout
from .records import AgentContext

SCHEMA_FILE = "agent_context.schema.json"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a context, as shipped.

    The output of `serialize` for a context without extras validates against it.

    >>> json_schema()["properties"]["reasoning"]
    {'$ref': '#/$defs/ReasoningContext'}
    """
    schema: dict[str, Any] = json.loads(
        files("polycontext.agent_context").joinpath(SCHEMA_FILE).read_text(encoding="utf-8")
    )
    return schema


def serialize(context: AgentContext) -> bytes:
    """Return a context as compact JSON in UTF-8.

    Empty texts, arrays and maps are left out, as are absent values; numbers, truth values and times
    never are. Times are RFC 3339 in UTC.

    Law: ``deserialize(serialize(c)) == c``.
    """
    return dumps(context)


def deserialize(
    raw: bytes | bytearray | memoryview | str,
    *,
    lenient: bool = False,
    migrations: MigrationRegistry = MIGRATIONS,
) -> AgentContext:
    """Return the context that JSON text describes; missing fields have their defaults.

    Documents of older versions are migrated first. With `lenient`, unknown fields are kept in the
    `extras` of their record and written again by `serialize`, and a null counts as a missing field.
    Otherwise both are refused. Values are never coerced.

    Raises:
        InvalidDataError: the text is not a context; names the path of the first fault.
        UnknownVersionError: no migration leads from its version.
        MigrationError: a migration failed.
    """
    data = at_path("$", loads, raw)
    if not isinstance(data, dict):
        raise wrong_type(data, "an object", "an object with version and namespaces", "$")
    # Migrations name the full path themselves; records do not know their path, so `$` is added
    # here.
    document = migrations.migrate(data)
    return at_path(
        "$",
        AgentContext.from_json,
        at_path("$", _with_extras, AgentContext, document) if lenient else document,
    )


def _with_extras(cls: type, data: Any) -> Any:
    """Return JSON data with every record's unknown fields in its extras, and without nulls.

    Data that is not a record is returned unchanged.
    """
    if not isinstance(data, dict):
        return data
    kinds = layout(cls).kinds
    known = {
        key: set_aside_extras(kinds[key], value)
        for key, value in data.items()
        if key in kinds and value is not None
    }
    unknown = {key: value for key, value in data.items() if key not in kinds}
    return known | {EXTRAS: freeze_object(unknown)}


def set_aside_extras(kind: Kind, value: Any) -> Any:
    """Return JSON data of a kind with the unknown fields of every record in it set aside."""
    if kind.shape is Shape.OBJECT and kind.record is not None:
        return _with_extras(kind.record, value)
    if kind.item is None or kind.item.record is None:
        return value
    if kind.shape is Shape.ARRAY and isinstance(value, list):
        return [_with_extras(kind.item.record, item) for item in value]
    if kind.shape is Shape.MAP and isinstance(value, Mapping):
        return {key: _with_extras(kind.item.record, item) for key, item in value.items()}
    return value
