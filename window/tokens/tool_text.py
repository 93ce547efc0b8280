"""Write tool definitions the way a model reads them, so that they can be counted.

OpenAI's models do not see the JSON schema of a tool: it reaches them as a
TypeScript-like namespace, which needs half the tokens. The recorded usage of
gpt-4o and gpt-4.1 requests fits that text within a few tokens (see
``docs/decisions/2026-11-23-token-counting.md``). Definitions of any other
shape, Anthropic's among them, reach the model as JSON.
"""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

_HEAD = "# Tools\n\n## functions\n\nnamespace functions {\n\n"
_FOOT = "} // namespace functions"
_FORMED = frozenset({"type", "properties", "required", "items", "anyOf", "oneOf", "enum", "const", "$ref"})
_UNSEEN = frozenset({"additionalProperties", "title", "strict"})


def tool_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the text that stands for `tools` in a prompt; empty where there are none.

    >>> print(tool_text([{"type": "function", "function": {"name": "now", "description": "Tell the time."}}]))
    # Tools
    <BLANKLINE>
    ## functions
    <BLANKLINE>
    namespace functions {
    <BLANKLINE>
    // Tell the time.
    type now = () => any;
    <BLANKLINE>
    } // namespace functions
    """
    functions = [_function(tool.get("function", tool)) for tool in tools if _is_function(tool)]
    others = [as_json(tool) for tool in tools if not _is_function(tool)]
    namespace = [_HEAD + "".join(functions) + _FOOT] if functions else []
    return "\n".join(namespace + others)


def as_json(value: Any) -> str:
    """Return `value` as compact JSON text; what JSON cannot say becomes its own text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def _is_function(tool: Mapping[str, Any]) -> bool:
    body = tool.get("function", tool)
    return isinstance(body, Mapping) and "name" in body and (tool.get("type") == "function" or "parameters" in body)


def _function(body: Mapping[str, Any]) -> str:
    definitions, schema = _split(body.get("parameters"))
    arguments = f"_: {_type(schema)}" if _takes_arguments(schema) else ""
    return f"{definitions}{_comment(body.get('description'))}type {body['name']} = ({arguments}) => any;\n\n"


def _split(schema: Any) -> tuple[str, Any]:
    """Part the definitions that a schema shares among its properties from the rest of it."""
    shared = schema.get("$defs") if isinstance(schema, Mapping) else None
    if not isinstance(shared, Mapping):
        return "", schema
    definitions = "".join(f"type {name} = {_type(inner)};\n" for name, inner in shared.items())
    return definitions, {key: value for key, value in schema.items() if key != "$defs"}


def _takes_arguments(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return schema is not None
    return any(value for key, value in schema.items() if key not in _UNSEEN | {"type"})


def _comment(description: object) -> str:
    return f"// {str(description).strip()}\n" if description else ""


def _type(schema: Any) -> str:
    return _form(schema) + _remark(schema, _FORMED | _UNSEEN)


def _form(schema: Any) -> str:  # noqa: PLR0911  one return a form
    match schema:
        case {"enum": [*values]}:
            return " | ".join(map(as_json, values))
        case {"const": value}:
            return as_json(value)
        case {"anyOf": [*choices]} | {"oneOf": [*choices]}:
            return " | ".join(map(_type, choices))
        case {"$ref": str(target)}:
            return target.rpartition("/")[2]
        case {"properties": Mapping() as properties} if properties:
            required = schema.get("required")
            return _object(properties, required if isinstance(required, list | tuple) else ())
        case {"type": "array"}:
            return f"{_type(schema.get('items'))}[]"
        case {"type": [*names]}:
            return " | ".join(map(str, names))
        case {"type": str(name)}:
            return "number" if name == "integer" else name
        case Mapping() | None | bool():
            return "any"
        case _:
            return as_json(schema)


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> str:
    lines = [_property(name, schema, "" if name in required else "?") for name, schema in properties.items()]
    return "{\n" + "".join(lines) + "}"


def _property(name: str, schema: Any, mark: str) -> str:
    comment = _comment(schema.get("description")) if isinstance(schema, Mapping) else ""
    return f"{comment}{name}{mark}: {_form(schema)},{_remark(schema, _FORMED | _UNSEEN | {'description'})}\n"


def _remark(schema: Any, shown: AbstractSet[str]) -> str:
    """Write as JSON what has no TypeScript form (bounds, patterns, defaults, shared definitions): better once too often than not."""
    rest = {key: value for key, value in schema.items() if key not in shown} if isinstance(schema, Mapping) else {}
    return f" // {as_json(rest)}" if rest else ""
