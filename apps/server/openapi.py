"""The schemas of the server's OpenAPI document, built on the contract of the props.

See docs/server.md.
"""

from typing import Any

import orjson

from polycontext.nodes.props import SCHEMA, read_contract
from polycontext.polynomial.journal import receipt_schema

_TEXT = {"type": "string"}
_PLACE = "#/components/schemas/"


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_KINDS = {"#": "integer", "%": "number", "!": "boolean"}


def _object(description: str, names: str = "", **properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these `properties`, and others by their `names`.

    A name is of a text. Behind it, "#" stands for an integer, "%" for a number, "!" for a boolean,
    "?" for null as well, and "*" for a list of such.
    """
    named = dict[str, Any]()
    for name in names.split():
        plain = name.rstrip("#%!?*")
        signs = name.removeprefix(plain)
        kind = next((_KINDS[sign] for sign in signs if sign in _KINDS), "string")
        one = {"type": [kind, "null"] if "?" in signs else kind}
        named[plain] = _list(one) if "*" in signs else one
    return {
        "type": "object",
        "description": description,
        "properties": named | properties,
        "required": [*named, *properties],
        "additionalProperties": False,
    }


_RULE = "id text kind scope messageId"
_RULES = _list(_object("A rule, and the id of the message that states it.", _RULE))


def gives(schema: str, code: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that answers with the named schema."""
    return {
        code: {
            "description": "What was asked for.",
            "content": {"application/json": {"schema": {"$ref": _PLACE + schema}}},
        }
    }


def takes(schema: str) -> dict[str, Any]:
    """Return the `openapi_extra` of a route whose body has the named schema."""
    content = {"application/json": {"schema": {"$ref": _PLACE + schema}}}
    return {"requestBody": {"required": True, "content": content}}


def schemas() -> dict[str, Any]:
    """Return the schemas of all responses by name.

    >>> sorted(name for name in schemas() if "." not in name)[:4]
    ['ActionProps', 'Changed', 'ChatProps', 'Completions']
    >>> sorted(gateway_schemas())
    ['CompressedRows', 'Original', 'Rows']
    """
    contract = orjson.loads(read_contract(SCHEMA).replace("#/$defs/", _PLACE))
    inner, props = contract.pop("$defs"), {"$ref": f"{_PLACE}ChatProps"}
    contract.pop("$schema")
    chat = "id title at? pressure%? model? readOnly!"
    return {
        **inner,
        **_receipt_schemas(),
        **_inspection_schemas(),
        "ChatProps": contract,
        "Changed": _object("The props after the change.", contextProps=props),
        "Opened": _object("A chat, and its props.", "sessionId", contextProps=props),
        "Listed": _object(
            "The ids of a user's chats; and what is shown of each and of the sessions of other "
            "programs, which are read-only. `deleted` has those that can still be restored.",
            "sessions*",
            chats=_list(_object("A chat.", chat)),
            deleted=_list(_object("A chat, and the seconds left to restore it.", f"{chat} undo%")),
        ),
        "Settings": _object("What the page may offer.", "inspect! models* editor! names! store?"),
        "History": _object(
            "A page of messages, oldest first. Pass `before` to get the page before it; it is null "
            "on the first page.",
            "before?",
            messages=_list({"$ref": f"{_PLACE}MessageProps"}),
        ),
        "Rules": _object("The user's rules that stand, in order.", rules=_RULES),
        "Receipts": _object(
            "The receipts of a chat's compressions, oldest first.",
            receipts=_list({"$ref": f"{_PLACE}Receipt"}),
        ),
        "Completions": _object(
            "Names that a message can attach, best match first.",
            completions=_list(
                _object("A name, its type, and where it is defined.", "name type detail")
            ),
        ),
        "Uploads": _object(
            "The attachments in the view, oldest first.",
            uploads=_list(_object("The id of its message, and its name.", "id name")),
        ),
        "Source": _object(
            "The content that a pill names; `notice` says what was truncated.",
            "name type content path? startLine#? notice?",
        ),
    }


def gateway_schemas() -> dict[str, Any]:
    """Return the schemas of the routes that gateways use (docs/gateway.md) by name."""
    rows = _list({"type": "object"})
    return {
        "Rows": {
            **_object("The rows of a request to a model, and its name.", messages=rows),
            "additionalProperties": True,
        },
        "CompressedRows": {
            **_object(
                "The rows to send, as many as were given. `ccr_hashes` are those of the originals "
                "that can be retrieved; `warning` says what failed.",
                "tokens_before# tokens_after# tokens_saved# compression_ratio% "
                "transforms_applied* ccr_hashes*",
                messages=rows,
            ),
            "additionalProperties": {"warning": _TEXT},
        },
        "Original": _object("An original.", "hash original_content"),
    }


def _inspection_schemas() -> dict[str, Any]:
    """Return the schemas of the routes that need the right to inspect."""
    described = "id role kind tokens#? place# at tool?"
    turn = _object(
        "A message or a summary. `class…` say who set its class, why and when; `left…` what took "
        "it out of the view.",
        f"{described} came# text callId?",
        calls=_list(_object("A tool call.", "id name arguments")),
    )
    more = "class? classBy? classWhy? classAt? left? since#? leftAt? leftBy? leftWhy?"
    turn["properties"] |= _object("", more)["properties"]
    line = _object("A line, and the messages that it comes from.", "text sources*")
    return {
        "Inspection": _object(
            "What the model sees, and the fate of each message of the log.",
            "revision# state states* model? readOnly!",
            regions={"type": "object", "additionalProperties": _TEXT},
            window=_object(
                "The tokens of the window.",
                "tokens# maxTokens# pressuredAbove# free# reserve# tools#",
                classes=_object("By kind.", "system# pinned# summarised# verbatim#"),
            ),
            turns=_list(_object("A message, without its text.", f"{described} fate gist?")),
            summaries=_list(
                _object(
                    "A summary, and where each of its lines comes from.",
                    "id tokens# sources*",
                    lines=_list(line),
                )
            ),
            rules=_RULES,
            ended=_list(_object("A rule that has ended: how, and by what.", f"{_RULE} how by")),
            cost=_object(
                "What providers reported.",
                "calls# inputTokens# cachedTokens# outputTokens# durationMs# usd%",
            ),
        ),
        "Turns": _object("Messages and summaries.", turns=_list(turn)),
        "Timeline": _object(
            "What stood after each event, by revision.",
            entries=_list(
                _object(
                    "The tokens of each kind, in the order system, pinned, summarised, verbatim; "
                    "the ids that entered and left the view; the index in it of each that entered.",
                    "kind? at? state maxTokens# tokens#* came* went* places#*",
                )
            ),
        ),
        "Found": _object(
            "Messages, best match first.",
            found=_list(_object("A message, and the words found.", "id snippet")),
        ),
        "Draft": _object(
            "The tokens of a message and of the window with it, and the ids of the messages that "
            "would be summarised or dropped.",
            "tokens# most# fits! windowTokens# pressure% summarised*",
        ),
    }


def _receipt_schemas() -> dict[str, Any]:
    """Return the published schema of a receipt, and the schemas that it refers to."""
    text = orjson.dumps(receipt_schema()).decode().replace("#/$defs/", f"{_PLACE}Receipt.")
    receipt = orjson.loads(text)
    inner = {f"Receipt.{name}": each for name, each in receipt.pop("$defs").items()}
    receipt.pop("$schema")
    return {"Receipt": receipt, **inner}
