"""Conversion of answers into the events that the vendors stream."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import orjson

from .provider import Event

Fields = dict[str, Any]

PIECE = 24
"""The number of characters of text or arguments in one event of OpenAI's streams."""

_PIECE = 16
"""The number of characters of text in one event of Anthropic's streams."""


def pieces(text: str, size: int = PIECE) -> list[str]:
    """Split `text` into the pieces that a stream sends.

    >>> pieces("a stream", 5)
    ['a str', 'eam']
    """
    return [text[start : start + size] for start in range(0, len(text), size)]


def message_events(message: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of a stream of `message`, in the vendor's order.

    Text is sent in pieces, a call's arguments as pieces of JSON, and a signature whole.

    Source: the vendor's page on streaming messages.
    """
    usage = message["usage"]
    started = {
        **message,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
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
    """Return the event that ends a stream when the vendor fails in the middle of an answer."""
    return _event("error", error={"type": kind, "message": message})


def _opened(block: Mapping[str, Any]) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """Return a block as it is first sent, and the deltas that complete it."""
    match block["type"]:
        case "text":
            return {
                **block,
                "text": "",
                "citations": [] if block.get("citations") else None,
            }, _text_deltas(block)
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, _thinking_deltas(block)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return {**block, "input": {}}, _input_deltas(block)
        case "compaction":
            return {**block, "content": None}, iter(
                [{"type": "compaction_delta", "content": block.get("content")}]
            )
        case _:
            return dict(block), iter(())


def _text_deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for piece in pieces(block["text"], _PIECE):
        yield {"type": "text_delta", "text": piece}
    for citation in block.get("citations") or ():
        yield {"type": "citations_delta", "citation": citation}


def _thinking_deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for piece in pieces(block["thinking"], _PIECE):
        yield {"type": "thinking_delta", "thinking": piece}
    yield {"type": "signature_delta", "signature": block["signature"]}


def _input_deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "input_json_delta", "partial_json": ""}
    if block.get("input"):
        for piece in pieces(orjson.dumps(block["input"]).decode(), _PIECE):
            yield {"type": "input_json_delta", "partial_json": piece}


def _event(kind: str, **fields: Any) -> Event:
    return Event(kind, {"type": kind, **fields})


def response_events(response: Fields) -> Iterator[Event]:
    """Yield the events of a finished `response`.

    They begin with ``response.created`` and end with ``response.completed`` or
    ``response.incomplete``.
    """
    numbers = count()
    for kind, fields in _numberless(response):
        yield Event(kind, {"type": kind, "sequence_number": next(numbers)} | fields)


def _numberless(response: Fields) -> Iterator[tuple[str, Fields]]:
    begun = response | {
        "status": "in_progress",
        "output": [],
        "usage": None,
        "completed_at": None,
        "incomplete_details": None,
    }
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(response["output"]):
        yield "response.output_item.added", {"output_index": index, "item": _begun(item)}
        for kind, fields in _item(item):
            yield kind, {"item_id": item["id"], "output_index": index} | fields
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{response['status']}", {"response": response}


def _begun(item: Mapping[str, Any]) -> Fields:
    empty = {"content": [], "summary": [], "arguments": "", "input": "", "encrypted_content": ""}
    begun = {key: empty.get(key, value) for key, value in item.items()}
    return begun | {"status": "in_progress"} if "status" in item else begun


def _item(item: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    match item["type"]:
        case "message":
            for index, part in enumerate(item["content"]):
                yield from _part(part, {"content_index": index})
        case "reasoning":
            for index, part in enumerate(item["summary"]):
                yield from _summary(part, {"summary_index": index})
        case "function_call":
            yield from _argument(
                "response.function_call_arguments", "arguments", item, {"name": item["name"]}
            )
        case "custom_tool_call":
            yield from _argument("response.custom_tool_call_input", "input", item, {})
        case _:
            return


def _part(part: Mapping[str, Any], place: Fields) -> Iterator[tuple[str, Fields]]:
    key = "text" if part["type"] == "output_text" else "refusal"
    further: Fields = {"logprobs": []} if key == "text" else {}
    name = f"response.{part['type']}"
    yield "response.content_part.added", place | {"part": dict(part) | {key: ""}}
    for piece in pieces(part[key]):
        yield f"{name}.delta", place | {"delta": piece} | further
    yield f"{name}.done", place | {key: part[key]} | further
    yield "response.content_part.done", place | {"part": part}


def _summary(part: Mapping[str, Any], place: Fields) -> Iterator[tuple[str, Fields]]:
    yield "response.reasoning_summary_part.added", place | {"part": dict(part) | {"text": ""}}
    for piece in pieces(part["text"]):
        yield "response.reasoning_summary_text.delta", place | {"delta": piece}
    yield "response.reasoning_summary_text.done", place | {"text": part["text"]}
    yield "response.reasoning_summary_part.done", place | {"part": part}


def _argument(
    name: str, key: str, item: Mapping[str, Any], further: Fields
) -> Iterator[tuple[str, Fields]]:
    for piece in pieces(item[key]):
        yield f"{name}.delta", {"delta": piece}
    yield f"{name}.done", {key: item[key]} | further
