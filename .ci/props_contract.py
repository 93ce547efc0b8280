"""Write the contract of the props: a TypeScript declaration and a JSON Schema.

Usage: python .ci/props_contract.py

Both are generated from the `TypedDict` classes of `polycontext.nodes.props.component_renderer` and
shipped beside them, so that a frontend is type-checked against the renderer.
"""

import json
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from polycontext.nodes.props.component_renderer import DECLARATION, SCHEMA, ChatProps

SHIPPED = Path(__file__).resolve().parents[1] / "nodes" / "props"

_PLAIN = {str: "string", float: "number", bool: "boolean", NoneType: "null"}
"""The names of plain types in both languages."""


def props_schema(root: type = ChatProps) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `root`, a TypedDict.

    All keys are required, and no other keys are allowed.

    >>> sorted(props_schema()["properties"])
    ['actions', 'canSend', 'messages', 'pressure', 'status']
    """
    classes = _classes(root)
    definitions = {kind.__name__: _object_schema(kind) for kind in classes if kind is not root}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": root.__name__,
        **_object_schema(root),
        "$defs": definitions,
    }


def props_declaration(root: type = ChatProps) -> str:
    """Return the TypeScript declaration of `root` and of every TypedDict in it."""
    head = (
        "// Generated from polycontext.nodes.props.component_renderer by `just write "
        "props_contract`.\n"
    )
    return head + "".join(f"\n{_interface(kind)}" for kind in _classes(root))


def write_contract(folder: Path) -> None:
    """Write both files into `folder`."""
    (folder / DECLARATION).write_text(props_declaration(), encoding="utf-8")
    (folder / SCHEMA).write_text(json.dumps(props_schema(), indent=2) + "\n", encoding="utf-8")


def _fields(kind: type) -> dict[str, tuple[Any, str]]:
    """Return the type and description of each field of a TypedDict by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: (get_args(hint)[0], get_args(hint)[1])
        if get_origin(hint) is Annotated
        else (hint, "")
        for name, hint in hints.items()
    }


def _classes(kind: type) -> list[type]:
    """Return `kind` and every TypedDict in it, parts first and each once."""
    found: dict[type, None] = {}
    for type_, _ in _fields(kind).values():
        for part in get_args(type_) or (type_,):
            if is_typeddict(part):
                found.update(dict.fromkeys(_classes(part)))
    return [*found, kind]


def _object_schema(kind: type) -> dict[str, Any]:
    fields = _fields(kind)
    return {
        "type": "object",
        "description": getdoc(kind),
        "properties": {
            name: {**_schema(type_), "description": words}
            for name, (type_, words) in fields.items()
        },
        "required": list(fields),
        "additionalProperties": False,
    }


def _schema(type_: Any) -> dict[str, Any]:
    if is_typeddict(type_):
        return {"$ref": f"#/$defs/{type_.__name__}"}
    if get_origin(type_) is Literal:
        return {"enum": list(get_args(type_))}
    if get_origin(type_) is list:
        return {"type": "array", "items": _schema(get_args(type_)[0])}
    if isinstance(type_, UnionType):
        return {"anyOf": [*map(_schema, get_args(type_))]}
    return {"type": _PLAIN[type_]}


def _interface(kind: type) -> str:
    lines = [
        f"  /** {words} */\n  {name}: {_typescript(type_)};"
        for name, (type_, words) in _fields(kind).items()
    ]
    return (
        f"/** {getdoc(kind)} */\nexport interface {kind.__name__} {{\n" + "\n".join(lines) + "\n}\n"
    )


def _typescript(type_: Any) -> str:
    if is_typeddict(type_):
        return str(type_.__name__)
    if get_origin(type_) is Literal:
        return " | ".join(json.dumps(value) for value in get_args(type_))
    if isinstance(type_, UnionType):
        return " | ".join(map(_typescript, get_args(type_)))
    if isinstance(type_, UnionType):
        return " | ".join(map(_typescript, get_args(type_)))
    if get_origin(type_) is list:
        return f"{_typescript(get_args(type_)[0])}[]"
    return _PLAIN[type_]


if __name__ == "__main__":
    write_contract(SHIPPED)
