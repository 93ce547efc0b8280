"""Gemini contents as JSON data: reading them as turns, and writing turns as one content."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from polycontext.window import Part, PartKind, Role, ToolCall, Turn

from .blocks import arguments, block, own_blocks, thought

_OWN, _BY_ORDER = "gemini", "by-order-"


def read_contents(contents: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, Turn]]:
    """Yield the turns of each content with its place: one per result, and one for the rest.

    Gemini's calls need no id. A call without an id gets one made from its place, and a result
    without an id belongs to the first call of its name that has no result yet.

    >>> look = {
    ...     "role": "model",
    ...     "parts": [{"function_call": {"name": "look", "args": {"at": side}}} for side in "ab"],
    ... }
    >>> seen = {
    ...     "role": "user",
    ...     "parts": [
    ...         {"function_response": {"name": "look", "response": {"result": side}}}
    ...         for side in "ab"
    ...     ],
    ... }
    >>> [
    ...     (turn.text, turn.tool_call_id or [call.id for call in turn.tool_calls])
    ...     for _, turn in read_contents([look, seen])
    ... ]
    [('', ['by-order-0-0', 'by-order-0-1']), ('a', 'by-order-0-0'), ('b', 'by-order-0-1')]
    """
    waiting: list[ToolCall] = []
    for place, content in enumerate(contents):
        parts = content.get("parts") or []
        for part in parts:
            if "function_response" in part:
                yield place, _parse_result(part["function_response"], waiting)
        said = [part for part in parts if "function_response" not in part]
        if said or not parts:
            turn = _parse_message(
                Role.ASSISTANT if content.get("role") == "model" else Role.USER,
                said,
                f"{_BY_ORDER}{place}-",
            )
            waiting = [*turn.tool_calls]
            yield place, turn


def write_content(turns: Sequence[Turn]) -> dict[str, Any]:
    """Return `turns` of one role as one content.

    >>> write_content([Turn("user", "Which plums?")])
    {'role': 'user', 'parts': [{'text': 'Which plums?'}]}
    """
    role = "model" if turns[0].role is Role.ASSISTANT else "user"
    return {"role": role, "parts": [part for turn in turns for part in _parts(turn)]}


def read_usage(usage: Mapping[str, Any] | None) -> dict[str, int] | None:
    """Return the input and output tokens of a response, None if it reports none.

    >>> (
    ...     read_usage(
    ...         {"prompt_token_count": 900, "candidates_token_count": 9, "thoughts_token_count": 1}
    ...     ),
    ...     read_usage(None),
    ... )
    ({'input_tokens': 900, 'output_tokens': 10}, None)
    """
    if not usage or not usage.get("prompt_token_count"):
        return None
    said = (usage.get("candidates_token_count") or 0) + (usage.get("thoughts_token_count") or 0)
    return {"input_tokens": usage["prompt_token_count"], "output_tokens": said}


def _parse_result(result: Mapping[str, Any], waiting: list[ToolCall]) -> Turn:
    """Return the turn of a result, and remove its call from `waiting`."""
    call_id, name, response = result.get("id"), result.get("name"), result.get("response") or {}
    call = next(
        (call for call in waiting if (call.id == call_id if call_id else call.name == name)), None
    )
    if call is not None:
        waiting.remove(call)
    text = _text(response["result"] if response.keys() == {"result"} else response)
    beside = [_part(part) for part in result.get("parts") or ()]
    return Turn(
        Role.TOOL,
        text,
        tool_call_id=_BY_ORDER if call is None else call.id,
        name=name,
        parts=beside,
    )


def _parse_message(role: Role, parts: Sequence[Mapping[str, Any]], prefix: str) -> Turn:
    texts: list[str] = []
    calls: list[ToolCall] = []
    beside: list[Part] = []
    for part in parts:
        if "function_call" in part and role is Role.ASSISTANT:
            call, others = (
                part["function_call"],
                {name: value for name, value in part.items() if name != "function_call"},
            )
            if others:
                # Gemini refuses a call without its signature, whatever else is left out.
                beside.append(Part(_OWN, json.dumps(others), PartKind.CALL, len(calls)))
            given = call.get("id") or f"{prefix}{len(calls)}"
            calls.append(
                ToolCall(given, call.get("name") or "unknown", _text(call.get("args") or {}))
            )
        elif part.get("text") and not part.get("thought"):
            texts.append(part["text"])
        elif part and part != {"text": ""}:
            beside.append(_part(part))
    return Turn(
        role, ("" if role is Role.ASSISTANT else "\n").join(texts), tool_calls=calls, parts=beside
    )


def _part(part: Mapping[str, Any]) -> Part:
    """Return a part of a content that is neither text nor a call.

    Signed thoughts are bound to their prefix. Media and any other parts are kept.
    """
    if part.get("thought") and "thought_signature" in part:
        signature = urlsafe_b64decode(part["thought_signature"]).decode(errors="backslashreplace")
        return thought(part.get("text") or "", signature)
    return block(
        _OWN, part, next((name for name in ("inline_data", "file_data") if name in part), None)
    )


def _parts(turn: Turn) -> list[dict[str, Any]]:
    beside = [*own_blocks(turn, _OWN)]
    if turn.role is Role.TOOL:
        result = {
            "id": _original_id(turn.tool_call_id),
            "name": turn.name,
            "response": {"result": turn.text},
        }
        return [{"function_response": result | ({"parts": beside} if beside else {})}]
    others = {
        part.start: json.loads(part.data)
        for part in turn.parts
        if part.provider == _OWN and part.kind is PartKind.CALL
    }
    calls = [
        {"id": _original_id(call.id), "name": call.name, "args": arguments(call)}
        for call in turn.tool_calls
    ]
    called = [others.get(place, {}) | {"function_call": call} for place, call in enumerate(calls)]
    return [*([{"text": turn.text}] if turn.text else []), *beside, *called]


def _original_id(call_id: str | None) -> str | None:
    """Return the id that a call came with, None if it had none."""
    return None if call_id is None or call_id.startswith(_BY_ORDER) else call_id


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
