"""The schemas of the server's OpenAPI document, built on the contract of the props.

See docs/server.md.
"""

from typing import Any

import orjson

from polycontext.nodes.props import SCHEMA, read_contract

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_PLACE = "#/components/schemas/"


def gives(schema: str, code: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that answers with the named schema."""
    return {
        code: {
            "description": "What was asked for.",
            "content": {"application/json": {"schema": {"$ref": _PLACE + schema}}},
        }
    }


def schemas() -> dict[str, Any]:
    """Return the schemas of all responses by name.

    >>> sorted(schemas())
    ['ActionProps', 'Changed', 'ChatProps', 'Completions', 'History', 'Listed', 'MessageProps', \
'Opened', 'Rules', 'Source', 'Uploads']
    """
    contract = orjson.loads(read_contract(SCHEMA).replace("#/$defs/", _PLACE))
    inner, props = contract.pop("$defs"), {"$ref": f"{_PLACE}ChatProps"}
    contract.pop("$schema")
    return {
        **inner,
        "ChatProps": contract,
        "Changed": _object("The props after the change.", contextProps=props),
        "Opened": _object("A chat, and its props.", sessionId=_TEXT, contextProps=props),
        "Listed": _object("The ids of a user's chats.", sessions=_list(_TEXT)),
        "History": _object(
            "A page of messages, oldest first. Pass `before` to get the page before it; it is null "
            "on the first page.",
            messages=_list({"$ref": f"{_PLACE}MessageProps"}),
            before=_TEXT_OR_NULL,
        ),
        "Rules": _object(
            "The user's rules that stand, in order.",
            rules=_list(
                _object(
                    "A rule, and the id of the message that states it.",
                    id=_TEXT,
                    text=_TEXT,
                    kind=_TEXT,
                    scope=_TEXT,
                    messageId=_TEXT,
                )
            ),
        ),
        "Completions": _object(
            "Names that a message can attach, best match first.",
            completions=_list(
                _object(
                    "A name, its type, and where it is defined.",
                    name=_TEXT,
                    type=_TEXT,
                    detail=_TEXT,
                )
            ),
        ),
        "Uploads": _object(
            "The attachments in the view, oldest first.",
            uploads=_list(_object("The id of its message, and its name.", id=_TEXT, name=_TEXT)),
        ),
        "Source": _object(
            "The content that a pill names; `notice` says what was truncated.",
            name=_TEXT,
            type=_TEXT,
            content=_TEXT,
            path=_TEXT_OR_NULL,
            startLine={"type": ["integer", "null"]},
            notice=_TEXT_OR_NULL,
        ),
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(description: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
