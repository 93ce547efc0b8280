"""The OpenAPI document of the server: what goes out is described by the contract of the props (docs/props.md), of which there is only one."""

from typing import Any

import orjson

from polycontext.nodes.props import SCHEMA, shipped

_TEXT = {"type": "string"}
_PLACE = "#/components/schemas/"


def gives(schema: str, code: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return what a route answers, by the name of its schema, for its `responses`."""
    return {code: {"description": "What was asked for.", "content": {"application/json": {"schema": {"$ref": _PLACE + schema}}}}}


def schemas() -> dict[str, Any]:
    """Return the schemas of everything that goes out, by their names.

    >>> sorted(schemas())
    ['ActionProps', 'Changed', 'ChatProps', 'Completions', 'History', 'Listed', 'MessageProps', 'Opened', 'Source', 'Uploads']
    """
    contract = orjson.loads(shipped(SCHEMA).replace("#/$defs/", _PLACE))
    inner, props = contract.pop("$defs"), {"$ref": f"{_PLACE}ChatProps"}
    contract.pop("$schema")
    return {
        **inner,
        "ChatProps": contract,
        "Changed": _object("The props after what was asked for.", contextProps=props),
        "Opened": _object("A chat, and its props.", sessionId={"type": "string"}, contextProps=props),
        "Listed": _object("The ids of a user's chats.", sessions={"type": "array", "items": {"type": "string"}}),
        "History": _object(
            "A page of what was said, oldest first; `before` is where the page before it ends, null at the beginning.",
            messages={"type": "array", "items": {"$ref": f"{_PLACE}MessageProps"}},
            before={"type": ["string", "null"]},
        ),
        "Completions": _object(
            "What can be named in a message, the best first.",
            completions={
                "type": "array",
                "items": _object("A name, its type, and where it is defined.", name=_TEXT, type=_TEXT, detail=_TEXT),
            },
        ),
        "Uploads": _object(
            "What is attached and stands in the view, oldest first.",
            uploads={"type": "array", "items": _object("The id of its message, and its name.", id=_TEXT, name=_TEXT)},
        ),
        "Source": _object(
            "What a pill names; `notice` says what of it was cut.",
            name=_TEXT,
            type=_TEXT,
            content=_TEXT,
            path={"type": ["string", "null"]},
            startLine={"type": ["integer", "null"]},
            notice={"type": ["string", "null"]},
        ),
    }


def _object(description: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
