"""A response as the events that the vendor streams."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from .openai import pieces
from .provider import Event

Fields = dict[str, Any]


def events(response: Fields) -> Iterator[Event]:
    """Yield the events of a finished `response`, from ``response.created`` to ``response.completed`` or ``response.incomplete``."""
    numbers = count()
    for kind, fields in _events(response):
        yield Event(kind, {"type": kind, "sequence_number": next(numbers)} | fields)


def _events(response: Fields) -> Iterator[tuple[str, Fields]]:
    begun = response | {"status": "in_progress", "output": [], "usage": None, "completed_at": None, "incomplete_details": None}
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
            yield from _argument("response.function_call_arguments", "arguments", item, {"name": item["name"]})
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


def _argument(name: str, key: str, item: Mapping[str, Any], further: Fields) -> Iterator[tuple[str, Fields]]:
    for piece in pieces(item[key]):
        yield f"{name}.delta", {"delta": piece}
    yield f"{name}.done", {key: item[key]} | further
