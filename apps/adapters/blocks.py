"""Conversions of thinking, media, calls and tools between frameworks' objects and turns."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from polycontext.window import Part, PartKind, ToolCall, Turn
from polycontext.window.wire_text import loaded_arguments


def thought(text: str, signature: str | None = None, provider: str | None = None) -> Part:
    """Return thinking as a part that is bound to the prefix before it.

    Thinking of OpenAI's models becomes a reasoning item, that of any other model a thinking block.

    >>> thought("Plums first.", "c2ln").provider, thought("", "ZW5j", "openai").provider
    ('anthropic', 'openai-responses')
    """
    if "openai" in (provider or ""):
        summary = [{"type": "summary_text", "text": text}] if text else []
        return Part(
            "openai-responses",
            json.dumps({"type": "reasoning", "summary": summary, "encrypted_content": signature}),
        )
    return Part(
        "anthropic",
        json.dumps({"type": "thinking", "thinking": text, "signature": signature or ""}),
    )


def picture(url: str) -> Part:
    """Return the part of a picture at a URL, or in a ``data:`` URL."""
    return Part("openai", json.dumps({"type": "image_url", "image_url": {"url": url}}))


def pictures(turn: Turn) -> Iterator[str]:
    """Yield the URLs of the pictures that a turn still has.

    >>> [*pictures(Turn("user", "Which?", parts=(picture("https://example.org/plum.png"),)))]
    ['https://example.org/plum.png']
    """
    for part in turn.parts:
        if part.type == "image_url":
            yield json.loads(part.data)["image_url"]["url"]


def block(framework: str, own: Mapping[str, Any], medium: str | None = None) -> Part:
    """Return framework-specific JSON data as a part that stays with its turn.

    `medium` names the field that holds a picture, a recording, a film or a document: its
    `media_type`, and its base64 `data`, its `url` or its `file_id`. Such a field is counted as a
    medium anywhere in the data; the rest is counted as it is.

    >>> picture = {"inline": {"media_type": "image/png", "data": "iVBORw0KGgo="}}
    >>> turn = Turn(
    ...     "user",
    ...     "So?",
    ...     parts=(
    ...         block("my-framework", picture, "inline"),
    ...         block("my-framework", {"executable_code": "1"}),
    ...     ),
    ... )
    >>> (
    ...     [part.is_medium for part in turn.parts],
    ...     [*own_blocks(turn, "my-framework")] == [picture, {"executable_code": "1"}],
    ... )
    ([True, False], True)
    """
    if medium is None:
        held = {"type": next(iter(own), "block"), "own": _marked(own)}
    else:
        beside = {name: value for name, value in own.items() if name != medium}
        held = {**_medium(own[medium]), "medium": medium, "own": _marked(beside)}
    return Part(framework, json.dumps(held, default=str))


def own_blocks(turn: Turn, framework: str) -> Iterator[dict[str, Any]]:
    """Yield the data given to `block`, for the parts that a turn still has."""
    for part in turn.parts:
        if part.provider == framework and part.kind is PartKind.BLOCK:
            yield _own(json.loads(part.data))


def _own(data: Mapping[str, Any]) -> dict[str, Any]:
    own: dict[str, Any] = _unmarked(data["own"])
    return own | ({data["medium"]: data["source"]} if "medium" in data else {})


_KINDS = {"image", "audio", "video"}
"""The kinds of media whose block has the name of the kind; any other is a document."""

_MARK = "nested-medium"


def _medium(source: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(source.get("media_type") or "").partition("/")[0]
    return {"type": kind if kind in _KINDS else "document", "source": source}


def _marked(value: Any) -> Any:
    """Return data in which each field that holds a medium has the form of one."""
    if isinstance(value, list | tuple):
        return [*map(_marked, value)]
    if not isinstance(value, Mapping):
        return value
    if isinstance(value.get("media_type"), str) and isinstance(value.get("data"), str):
        return {**_medium(value), _MARK: True}
    return {name: _marked(inner) for name, inner in value.items()}


def _unmarked(value: Any) -> Any:
    """Return the data that were given to `_marked`."""
    if isinstance(value, list):
        return [*map(_unmarked, value)]
    if not isinstance(value, dict):
        return value
    if _MARK in value:
        return value["source"]
    return {name: _unmarked(inner) for name, inner in value.items()}


def arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object, for frameworks that require one.

    >>> arguments(ToolCall("c1", "look", '{"at": "1"}')), arguments(ToolCall("c1", "look", "Paris"))
    ({'at': '1'}, {'raw_arguments': 'Paris'})
    """
    loaded = loaded_arguments(call.arguments)
    return {"raw_arguments": call.arguments} if loaded is None else loaded


def tool(
    name: str, description: str | None, parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the definition of a tool, for counting; `parameters` is its JSON Schema."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description or "",
            "parameters": parameters or {},
        },
    }


def sent_tokens(counts: Mapping[str, Any] | None) -> dict[str, int]:
    """Return the input tokens in a framework's usage counts.

    Counts without a total, such as Anthropic's, do not include cached tokens in the input, so these
    are added.

    >>> sent_tokens({"input_token_count": 10, "cache_read_input_token_count": 900})
    {'input_tokens': 910}
    >>> sent_tokens(
    ...     {
    ...         "input_token_count": 910,
    ...         "cache_read_input_token_count": 900,
    ...         "total_token_count": 930,
    ...     }
    ... )
    {'input_tokens': 910}
    """
    told = counts or {}
    names = (
        ["input_token_count"]
        if "total_token_count" in told
        else [name for name in told if name.endswith("input_token_count")]
    )
    return {"input_tokens": sum(told.get(name) or 0 for name in names)}


_SAID = {
    "text",
    "tool_use",
    "tool_call",
    "tool_call_chunk",
    "function_call",
    "input_json_delta",
    "invalid_tool_call",
}
"""Types of blocks that are text, or calls that the message lists anyway."""


def block_parts(content: object) -> Iterator[Part]:
    """Yield the parts of a message's content, of any vendor, that are neither text nor calls.

    Pictures, files and recordings are counted as media, thinking is bound to its prefix, and the
    rest is kept unchanged.

    >>> plum = {"type": "image", "source": {"type": "url", "url": "https://example.org/plum.png"}}
    >>> [part.type for part in block_parts([{"type": "text", "text": "Which?"}, plum])]
    ['image_url']
    """
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") not in _SAID:
            yield _part(block)


def _part(block: Mapping[str, Any]) -> Part:
    kind, inner = block.get("type"), block.get("source")
    source: Mapping[str, Any] = inner if isinstance(inner, Mapping) else block
    data = source.get("base64") or source.get("data")
    own = data if source is block else None
    # The index in a stream is not content.
    kept = {name: value for name, value in block.items() if name != "index"}
    match kind:
        case "image" | "image_url" | "input_image" if url := _url_of(source, data):
            return picture(url)
        case "reasoning" if "reasoning" in block:
            return thought(block["reasoning"], (block.get("extras") or {}).get("signature"))
        case "video" | "media" | "text-plain" if own or (source is block and block.get("file_uri")):
            return _file(kept)  # of any type, of which no vendor is known
        case "file" if own:
            kept = {"type": kind, "file": {"file_data": _data_url(source, own)}}
        case "audio" if own:
            audio = {"data": own, "format": _type_of(source).rpartition("/")[2]}
            kept = {"type": "input_audio", "input_audio": audio}
        case _:
            pass
    provider = "openai-responses" if kind == "reasoning" else "anthropic"
    return Part(provider, json.dumps(kept, default=str))


def _url_of(source: Mapping[str, Any], data: object) -> str:
    """Return the URL of a picture, or one with its data, or an empty text if it has neither."""
    url = source.get("image_url") or source.get("url")
    if isinstance(url, Mapping):
        return str(url.get("url"))
    return url or (_data_url(source, data) if data else "")


def _data_url(source: Mapping[str, Any], data: object) -> str:
    return f"data:{_type_of(source)};base64,{data}"


def _type_of(source: Mapping[str, Any]) -> str:
    return str(source.get("mime_type") or source.get("media_type") or "image/png")


_CONTENT = "content"


def _file(entry: Mapping[str, Any]) -> Part:
    """Return a block with a file, of which `content_of` makes the same block again."""
    name = next(name for name in ("base64", "data", "file_uri") if entry.get(name))
    media_type = entry.get("mime_type") or f"{entry['type']}/"
    held = {"media_type": media_type, "url" if name == "file_uri" else "data": entry[name]}
    beside = {key: value for key, value in entry.items() if key != name}
    return block(_CONTENT, {"file": held, "name": name, "beside": beside}, "file")


def _entry(part: Part) -> Any:
    data = json.loads(part.data)
    if part.provider != _CONTENT:
        return data
    own = _own(data)
    return {**own["beside"], own["name"]: own["file"].get("data") or own["file"]["url"]}


def content_of(turn: Turn) -> str | list[dict[str, Any]]:
    """Return a turn as the content of a message: its text, or blocks if it has parts.

    >>> (
    ...     content_of(Turn("user", "Which?")),
    ...     len(
    ...         content_of(Turn("user", "Which?", parts=(picture("https://example.org/plum.png"),)))
    ...     ),
    ... )
    ('Which?', 2)
    """
    blocks = [_entry(part) for part in turn.parts if part.type]
    return (
        [*blocks, *([{"type": "text", "text": turn.text}] if turn.text else [])]
        if blocks
        else turn.text
    )


def arguments_text(given: Any) -> str:
    """Return a call's arguments as JSON text, whether they were already parsed or not.

    >>> arguments_text({"at": "Böden"}), arguments_text("{oops")
    ('{"at": "Böden"}', '{oops')
    """
    return (
        given
        if isinstance(given, str)
        else json.dumps({} if given is None else given, ensure_ascii=False, default=str)
    )


def disambiguator() -> Callable[[str], str]:
    """Return a function that makes repeated ids unique.

    Some frameworks identify calls by the name of their tool only; their order then tells them
    apart.

    >>> disambiguate = disambiguator()
    >>> disambiguate("look"), disambiguate("look"), disambiguate("buy")
    ('look', 'look~2', 'buy')
    """
    seen: Counter[str] = Counter()

    def disambiguate(name: str) -> str:
        seen[name] += 1
        return name if seen[name] == 1 else f"{name}~{seen[name]}"

    return disambiguate
