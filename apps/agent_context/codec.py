"""Conversion of contexts to and from JSON text."""

from importlib.resources import files
from typing import Any

from polycontext.base.codec import json_object, json_value

from .errors import at_path, wrong_type
from .json_text import dumps
from .migrations import MIGRATIONS, MigrationRegistry
from .records import AgentContext

SCHEMA_FILE = "agent_context.schema.json"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a context, as shipped.

    The output of `serialize` validates against it.

    >>> json_schema()["properties"]["reasoning"]
    {'$ref': '#/$defs/ReasoningContext'}
    """
    return json_object(files("polycontext.agent_context").joinpath(SCHEMA_FILE).read_bytes())


def serialize(context: AgentContext) -> bytes:
    """Return a context as compact JSON in UTF-8.

    Empty texts, arrays and maps are left out, as are absent values; numbers, truth values and times
    never are. Times are RFC 3339 in UTC.

    Law: ``deserialize(serialize(c)) == c``.
    """
    return dumps(context)


def deserialize(
    raw: bytes | bytearray | memoryview | str, *, migrations: MigrationRegistry = MIGRATIONS
) -> AgentContext:
    """Return the context that JSON text describes; missing fields have their defaults.

    Documents of older versions are migrated first. Values are never coerced.

    Raises:
        InvalidDataError: the text is not a context; names the path of the first fault.
        UnknownVersionError: no migration leads from its version.
        MigrationError: a migration failed.
    """
    data = json_value(raw)
    if not isinstance(data, dict):
        raise wrong_type(data, "an object", "an object with version and namespaces", "$")
    # Migrations name the full path themselves.
    return at_path("$", AgentContext.from_json, migrations.migrate(data))
