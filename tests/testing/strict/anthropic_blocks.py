"""Messages of Anthropic's format and their blocks."""

from base64 import b64encode
from struct import pack
from typing import Any

Block = dict[str, Any]
ASK = {"role": "user", "content": "What is it?"}
TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {}}}


def user(*blocks: Block) -> Block:
    """Return a user message."""
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Block) -> Block:
    """Return an assistant message."""
    return {"role": "assistant", "content": list(blocks)}


def text(words: str, **fields: Any) -> Block:
    """Return a text block."""
    return {"type": "text", "text": words, **fields}


def call(call_id: str = "a", name: str = "look", **fields: Any) -> Block:
    """Return a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **fields}


def result(call_id: str = "a", content: Any = "seen", **fields: Any) -> Block:
    """Return a result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def search(call_id: str = "s", **fields: Any) -> Block:
    """Return a call of the vendor's own search."""
    return {
        "type": "server_tool_use",
        "id": call_id,
        "name": "web_search",
        "input": {"query": "it"},
        **fields,
    }


def found(call_id: str = "s") -> Block:
    """Return the result of a search."""
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def png(width: int = 2, height: int = 3) -> str:
    """Return the head of a PNG file as base64."""
    return b64encode(
        b"\x89PNG\r\n\x1a\n" + pack(">I4sII", 13, b"IHDR", width, height) + bytes(9)
    ).decode()


def picture(data: str | None = None, media_type: str = "image/png") -> Block:
    """Return a picture."""
    return {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": media_type,
            "data": png() if data is None else data,
        },
    }


def marked(block: Block, ttl: str | None = None) -> Block:
    """Return a block with a cache breakpoint."""
    return {**block, "cache_control": {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}}


def document(**fields: Any) -> Block:
    """Return a document of plain text."""
    return {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "12 EUR"},
        **fields,
    }


def cited(words: str = "12 EUR") -> Block:
    """Return text that cites, as an answer to documents holds it."""
    return text(
        words,
        citations=[
            {
                "type": "char_location",
                "cited_text": "12",
                "document_index": 0,
                "document_title": None,
            }
        ],
    )


def searched(*content: Block) -> Block:
    """Return what a search of one's own found."""
    return {
        "type": "search_result",
        "source": "https://example.org",
        "title": "it",
        "content": list(content),
    }
