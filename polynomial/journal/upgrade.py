"""Turns as schema 2 saved them, made into turns of today.

Parts then said on which side of the text they stood; and what a turn has no place for stood in its metadata,
for OpenAI's chat format alone: further fields of the message (`openai`), the ids of custom calls
(`custom_calls`), the name of a system role (`wire_role`). All of it is told by parts now.
"""

import json
from typing import Any

Data = dict[str, Any]
_MOVED = ("openai", "custom_calls", "wire_role")


def upgraded(value: Any) -> Any:
    """Return JSON data with every turn of schema 2 in it as one of schema 3.

    >>> upgraded({"role": "system", "content": "Be brief.", "metadata": {"wire_role": "developer"}})["parts"]
    [{'provider': 'openai', 'data': '{"role":"developer"}', 'kind': 'message'}]
    """
    if isinstance(value, list):
        return [upgraded(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "role" in value and "content" in value:
        return _turn(value)
    return {name: upgraded(inner) for name, inner in value.items()}


def _turn(turn: Data) -> Data:
    metadata, parts = turn.get("metadata"), turn.get("parts")
    kept = dict(turn)
    ordered = _ordered(parts, turn["content"]) if isinstance(parts, list) and _are_objects(parts) else []
    if isinstance(metadata, dict) and metadata.keys() & set(_MOVED):
        kept["metadata"] = {name: inner for name, inner in metadata.items() if name not in _MOVED}
        ordered = [*_message(turn, metadata), *ordered, *_custom_calls(turn, metadata)]
    # What is no list of objects stays as it is, for the codec to refuse.
    return {**kept, "parts": ordered} if ordered else kept


def _are_objects(parts: list[Any]) -> bool:
    return all(isinstance(part, dict) for part in parts)


def _ordered(parts: list[Data], content: object) -> list[Data]:
    blocks = [{name: inner for name, inner in part.items() if name != "before_text"} for part in parts]
    before = [block for block, part in zip(blocks, parts, strict=True) if part.get("before_text", True)]
    behind = [block for block, part in zip(blocks, parts, strict=True) if not part.get("before_text", True)]
    if not behind or not isinstance(content, str):
        return before + behind
    words = [_part("words", {}, provider=name) | {"stop": len(content)} for name in {part.get("provider"): None for part in behind}]
    return before + words + behind


def _message(turn: Data, metadata: Data) -> list[Data]:
    fields = metadata.get("openai")
    further: Data = dict(fields) if isinstance(fields, dict) else {}
    if metadata.get("wire_role") == "developer" and turn["role"] == "system":
        further["role"] = "developer"
    # Where there was no content, the refusal was read as the text.
    if "refusal" in further and further["refusal"] == turn["content"]:
        further |= {"content": None, "refusal": ""}
    return [_part("message", further)] if further else []


def _custom_calls(turn: Data, metadata: Data) -> list[Data]:
    ids, calls = metadata.get("custom_calls"), turn.get("tool_calls")
    if not isinstance(ids, list) or not isinstance(calls, list) or not _are_objects(calls):
        return []
    numbers = [number for number, call in enumerate(calls) if call.get("id") in ids]
    return [_part("call", {"type": "custom"}) | {"start": number} for number in numbers]


def _part(kind: str, data: Data, *, provider: object = "openai") -> Data:
    return {"provider": provider, "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")), "kind": kind}
