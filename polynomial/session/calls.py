"""Take tool calls in the shapes that providers hand them out."""

from collections.abc import Mapping
from typing import Any

import orjson

from polycontext.window import InvalidTurnError, ToolCall

_LEGAL = 'a ToolCall, {"id", "function": {"name", "arguments"}} (OpenAI), or {"id", "name", "input"} (Anthropic)'


def as_tool_call(call: ToolCall | Mapping[str, Any]) -> ToolCall:
    """Return `call` as a `ToolCall`.

    Raises:
        InvalidTurnError: none of the known shapes.

    >>> as_tool_call({"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}})
    ToolCall(id='c1', name='search', arguments='{}')
    """
    if isinstance(call, ToolCall):
        return call
    if not isinstance(call, Mapping):
        raise InvalidTurnError("tool_calls", f"{type(call).__name__} is no tool call", _LEGAL)
    match call:
        case {"id": identity, "function": {"name": name, "arguments": arguments}}:
            pass
        case {"id": identity, "name": name, "input": arguments} | {"id": identity, "name": name, "arguments": arguments}:
            pass
        case _:
            raise InvalidTurnError("tool_calls", f"an object with the keys {sorted(map(str, call))}", _LEGAL)
    return ToolCall(identity, name, arguments if isinstance(arguments, str) else _json(arguments))


def _json(arguments: object) -> str:
    try:
        return orjson.dumps(arguments).decode()
    except TypeError as error:
        raise InvalidTurnError("tool_calls.arguments", f"no JSON data ({error})", "JSON text, or data that JSON can say") from None
