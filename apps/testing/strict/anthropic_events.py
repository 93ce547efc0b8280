"""An answer of the Messages API as the events of a stream."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from .provider import Event

_PIECE = 16
"""Characters of a text that go into one event."""


def message_events(message: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events that a stream of `message` consists of, in the vendor's order.

    Source: the vendor's page on streaming messages. Text comes in pieces, a call's arguments as pieces of JSON, a signature whole.
    """
    usage = message["usage"]
    started = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    yield _event("message_start", message=started)
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        first, deltas = _opened(block)
        yield _event("content_block_start", index=index, content_block=first)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    yield _event("message_delta", delta=delta, usage={"output_tokens": usage["output_tokens"]})
    yield _event("message_stop")


def error_event(kind: str, message: str) -> Event:
    """Return the event that a stream breaks off with when the vendor fails in mid-answer."""
    return _event("error", error={"type": kind, "message": message})


def _opened(block: Mapping[str, Any]) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """Return a block as it begins, and the deltas that make it whole."""
    match block["type"]:
        case "text":
            return {**block, "text": "", "citations": [] if block.get("citations") else None}, _text_deltas(block)
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, _thinking_deltas(block)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return {**block, "input": {}}, _input_deltas(block)
        case "compaction":
            return {**block, "content": None}, iter([{"type": "compaction_delta", "content": block.get("content")}])
        case _:
            return dict(block), iter(())


def _text_deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for piece in _pieces(block["text"]):
        yield {"type": "text_delta", "text": piece}
    for citation in block.get("citations") or ():
        yield {"type": "citations_delta", "citation": citation}


def _thinking_deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for piece in _pieces(block["thinking"]):
        yield {"type": "thinking_delta", "thinking": piece}
    yield {"type": "signature_delta", "signature": block["signature"]}


def _input_deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "input_json_delta", "partial_json": ""}
    if block.get("input"):
        for piece in _pieces(orjson.dumps(block["input"]).decode()):
            yield {"type": "input_json_delta", "partial_json": piece}


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _event(kind: str, **fields: Any) -> Event:
    return Event(kind, {"type": kind, **fields})
