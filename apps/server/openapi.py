"""The schemas of the server's OpenAPI document: `openapi.json`, and the contract of the props.

See docs/server.md.
"""

from pathlib import Path
from typing import Any

import orjson

from polycontext.nodes.props import SCHEMA, read_contract
from polycontext.polynomial.journal import receipt_schema

_PLACE = "#/components/schemas/"


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
    inner = contract.pop("$defs")
    contract.pop("$schema")
    return {**inner, **_receipt_schemas(), **_own("chats"), "ChatProps": contract}


def gateway_schemas() -> dict[str, Any]:
    """Return the schemas of the routes that gateways use (docs/gateway.md) by name."""
    return _own("gateway")


def _own(group: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())[group]
    return found


def _receipt_schemas() -> dict[str, Any]:
    """Return the published schema of a receipt, and the schemas that it refers to."""
    text = orjson.dumps(receipt_schema()).decode().replace("#/$defs/", f"{_PLACE}Receipt.")
    receipt = orjson.loads(text)
    inner = {f"Receipt.{name}": each for name, each in receipt.pop("$defs").items()}
    receipt.pop("$schema")
    return {"Receipt": receipt, **inner}
