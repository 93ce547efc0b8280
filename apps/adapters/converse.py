"""Bedrock Converse messages: reading them as turns, and writing turns as one message."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from polycontext.window import Part, Role, ToolCall, Turn

from .blocks import arguments, arguments_text, block, own_blocks, thought

_OWN, _BYTES = "converse", "bytes-in-base64"


def read_message(message: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the turns of a message: one per tool result, and one for the rest.

    >>> use = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"at": "a"}}}
    >>> result = {
    ...     "toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "Plums."}]}
    ... }
    >>> messages = (
    ...     {"role": "assistant", "content": [use]},
    ...     {"role": "user", "content": [result, {"text": "And?"}]},
    ... )
    >>> [(str(turn.role), turn.text) for message in messages for turn in read_message(message)]
    [('assistant', ''), ('tool', 'Plums.'), ('user', 'And?')]
    """
    content, is_answer = message["content"], message["role"] == "assistant"
    results = [] if is_answer else [each for each in content if "toolResult" in each]
    for result in (each["toolResult"] for each in results):
        said, _, beside = _sorted(
            result.get("content") or [], {"text": str, "json": arguments_text}
        )
        if result.get("status") == "error":
            beside.append(block(_OWN, {"status": "error"}))
        yield Turn(Role.TOOL, said, tool_call_id=result["toolUseId"], parts=beside)
    rest = [each for each in content if each not in results]
    if rest or not content:
        # The results of the vendor's own tools stand beside their calls.
        served = {each["toolResult"]["toolUseId"] for each in rest if "toolResult" in each}
        said, calls, beside = _sorted(rest, {"text": str}, served)
        yield Turn(message["role"], said, tool_calls=calls, parts=beside)


def _sorted(
    blocks: Iterable[Mapping[str, Any]],
    texts: Mapping[str, Callable[[Any], str]],
    served: Collection[str] = (),
) -> tuple[str, list[ToolCall], list[Part]]:
    """Return the text, the calls and the other parts in the blocks of a message or a result.

    `texts` are the readers of the blocks that are text, by their names, and `served` the calls that
    the vendor answers itself.
    """
    said, calls, beside = list[str](), list[ToolCall](), list[Part]()
    for each in blocks:
        name = next((name for name in texts if name in each), "")
        use = each.get("toolUse")
        if name:
            said.append(texts[name](each[name]))
        elif use and use.get("type") != "server_tool_use" and use["toolUseId"] not in served:
            given = arguments_text(use.get("input"))
            calls.append(ToolCall(use["toolUseId"], use["name"], given))
        else:
            beside.append(_part(each))
    return "\n".join(said), calls, beside


def write_message(turns: Sequence[Turn]) -> dict[str, Any]:
    """Return `turns` of one role as one message.

    >>> write_message([Turn("user", "Which plums?")])
    {'role': 'user', 'content': [{'text': 'Which plums?'}]}
    """
    role = "assistant" if turns[0].role is Role.ASSISTANT else "user"
    return {"role": role, "content": [each for turn in turns for each in _blocks(turn)]}


def read_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the input and output tokens of a request.

    The total includes tokens read from a cache for every vendor, the input only for some.

    >>> read_usage(
    ...     {"inputTokens": 10, "cacheReadInputTokens": 890, "outputTokens": 9, "totalTokens": 909}
    ... )
    {'input_tokens': 900, 'output_tokens': 9}
    """
    return {
        "input_tokens": usage["totalTokens"] - usage["outputTokens"],
        "output_tokens": usage["outputTokens"],
    }


def _part(each: Mapping[str, Any]) -> Part:
    """Return a block that is neither text nor a call as a part.

    Reasoning is bound to its prefix. Media and any other blocks are kept.
    """
    kind, held = next(iter(each.items()))
    if kind == "reasoningContent":
        said = held.get("reasoningText", {})
        hidden = held.get("redactedContent") or ""
        if isinstance(hidden, bytes):
            hidden = hidden.decode(errors="backslashreplace")
        return thought(said.get("text") or "", said.get("signature") or hidden)
    if not (
        isinstance(held, Mapping)
        and isinstance(held.get("source"), Mapping)
        and isinstance(held["source"].get("bytes"), bytes)
    ):
        return block(_OWN, _encode_bytes(each))
    data = {
        "media_type": f"{kind}/{held.get('format')}",
        "data": b64encode(held["source"]["bytes"]).decode(),
    }
    return block(
        _OWN,
        {kind: data, "held": {name: value for name, value in held.items() if name != "source"}},
        kind,
    )


def _blocks(turn: Turn) -> list[Any]:
    beside = [_restore(own) for own in own_blocks(turn, _OWN)]
    said = [{"text": turn.text}] if turn.text else []
    if turn.role is Role.TOOL:
        status = {"status": "success"} | next((each for each in beside if "status" in each), {})
        content = [*said, *(each for each in beside if "status" not in each)]
        return [{"toolResult": {"toolUseId": turn.tool_call_id, **status, "content": content}}]
    uses = [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": arguments(call)}}
        for call in turn.tool_calls
    ]
    # Nothing is cached in front of all others, where the reasoning was.
    first = [each for each in beside[:1] if "cachePoint" in each and not said]
    return [*said, *beside[len(first) :], *uses, *first]


def _restore(own: dict[str, Any]) -> dict[str, Any]:
    if "held" not in own:
        opened: dict[str, Any] = _decode_bytes(own)
        return opened
    kind = next(name for name in own if name != "held")
    return {kind: own["held"] | {"source": {"bytes": b64decode(own[kind]["data"])}}}


def _encode_bytes(value: Any, kind: str = "application/octet-stream") -> Any:
    """Return a value as JSON data; unknown blocks, such as guarded pictures, may contain bytes."""
    if isinstance(value, Mapping):
        kinds = {
            name: f"{name}/{inner['format']}"
            for name, inner in value.items()
            if isinstance(inner, Mapping) and "format" in inner
        }
        return {name: _encode_bytes(inner, kinds.get(name, kind)) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode_bytes(inner, kind) for inner in value]
    if isinstance(value, bytes):
        return {_BYTES: f"data:{kind};base64,{b64encode(value).decode()}"}
    return value


def _decode_bytes(value: Any) -> Any:
    """Return the value that was given to `_encode_bytes`."""
    if isinstance(value, dict):
        return (
            b64decode(value[_BYTES].partition(",")[2])
            if _BYTES in value
            else {name: _decode_bytes(inner) for name, inner in value.items()}
        )
    return [*map(_decode_bytes, value)] if isinstance(value, list) else value
