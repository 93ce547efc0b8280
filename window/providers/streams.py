"""Answers that arrive as a stream, assembled from the chunks or events of their vendor."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import Factory, define

from .blocks import copied_messages, dumped
from .places import Place
from .wire import Message, Provider

_ONCE = frozenset({"role", "type", "id", "name"})
"""Fields whose text a chunk holds as a whole rather than in part."""
_FINAL = ("response.completed", "response.incomplete", "response.failed")
_ENDS = ("finish_reason", "finishReason")
_PLACE = Place(Provider.OPENAI)


def stream_of(value: object) -> Provider | None:
    """Return the vendor of which `value` is a part of a stream; a response of Gemini is one."""
    if isinstance(field_of(value, "candidates"), list) or feedback_of(value) is not None:
        return Provider.GEMINI
    if field_of(value, "object") == "chat.completion.chunk":
        return Provider.OPENAI
    kind = str(field_of(value, "type"))
    if kind.startswith("response."):
        return Provider.RESPONSES
    return Provider.ANTHROPIC if kind.startswith(("message_", "content_block_")) else None


def feedback_of(value: object) -> Any:
    """Return what a vendor says of a prompt that it blocked, or None."""
    return field_of(value, "promptFeedback") or field_of(value, "prompt_feedback")


def field_of(value: object, name: str) -> Any:
    """Return a field of JSON data or of an SDK's object, or None."""
    if isinstance(value, (dict, Mapping)):  # a dictionary is recognised at once
        return value.get(name)
    return getattr(value, name, None) if hasattr(value, "model_dump") else None


def messages_of_stream(stream: Sequence[Any], vendor: Provider) -> Sequence[Any]:
    """Return the messages of an answer of `vendor` from its chunks or events, in O(characters).

    Raises:
        InvalidMessagesError: Rule bad-answer: they make no message.
    """
    try:
        found = _ASSEMBLERS[vendor](stream)
    except (AttributeError, KeyError, TypeError):
        found = None
    if found is None:
        raise _PLACE.refuse("bad-answer", "chunks that make no message", _LEGAL)
    return found


def refuse_part(value: object) -> None:
    """Raise `InvalidMessagesError` if `value`, given alone, is only a part of an answer."""
    choices = field_of(value, "choices") or field_of(value, "candidates") or ()
    listed = choices if isinstance(choices, list | tuple) else ()
    ends = (field_of(choice, name) for choice in listed for name in _ENDS)
    if not (field_of(value, "type") in _FINAL or feedback_of(value) or any(ends)):
        raise _PLACE.refuse("bad-answer", "a single chunk or event of a stream", _LEGAL)


_LEGAL = "all chunks or events of one answer, in order, or the whole answer"


def _chat(chunks: Sequence[Any]) -> Sequence[Message] | None:
    whole = dict[str, Any]()
    for chunk in copied_messages(Provider.OPENAI, chunks):
        _gather(whole, {"choices": chunk.get("choices")})
    choices: Any = _settled(whole).get("choices") or ()
    if len(choices) != 1:
        return None
    return [{"role": "assistant", "content": None, **choices[0].get("delta", {})}]


@define
class _Entries:
    """The entries of a list that arrives in parts."""

    order: list[tuple[int, dict[str, Any]]] = Factory(list)
    latest: dict[Any, dict[str, Any]] = Factory(dict)

    def take(self, part: Mapping[str, Any]) -> None:
        """Add a part to the entry that it continues, or to a new one."""
        index = part.get("index")
        entry = self.latest.get(index)
        if entry is None or _begins(part, entry):
            entry = self.latest[index] = {}
            self.order.append((len(self.order) if index is None else index, entry))
        _gather(entry, part)

    def settled(self) -> list[Any]:
        """Return the entries in the order of their index."""
        ordered = sorted(self.order, key=lambda placed: placed[0])
        return [_settled(entry) for _, entry in ordered]


def _begins(part: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    """Return whether `part` begins a new entry: some servers number each of several calls 0."""
    begun, own = last.get("id"), part.get("id")
    named = (part.get("function") or {}).get("name")
    if named and ((last.get("function") or {}).get("name") or named) != named:
        return True
    if begun and own:
        return bool(begun != own)
    if part.get("index") is not None:
        return False
    is_other = bool(part.get("type")) and part["type"] != last.get("type", part["type"])
    return is_other or bool(own or named)


def _gather(whole: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        held = whole.get(name)
        if isinstance(value, list) or isinstance(held, _Entries):
            whole[name] = entries = held if isinstance(held, _Entries) else _Entries()
            if isinstance(held, list):
                entries.take({"type": "text", "text": "".join(held)})
            for each in (
                [{"type": "text", "text": value}] if isinstance(value, str) else value or ()
            ):
                entries.take(each)
        elif isinstance(value, str) and name not in _ONCE:
            whole.setdefault(name, []).append(value)
        elif isinstance(value, Mapping):
            _gather(whole.setdefault(name, {}), value)
        elif value:
            whole[name] = value


def _settled(value: Any) -> Any:
    match value:
        case _Entries():
            return value.settled()
        case list():
            return "".join(value)
        case dict():
            return {name: _settled(inner) for name, inner in value.items() if name != "index"}
        case _:
            return value


def _messages(events: Sequence[Any]) -> Sequence[Message]:
    message = Message()
    blocks = dict[int, Message]()
    inputs = dict[int, list[str]]()
    for event in map(dumped, events):
        match event:
            case {"type": "message_start", "message": dict(begun)}:
                message = {"role": begun["role"]}
            case {"type": "content_block_start", "index": index, "content_block": block}:
                blocks[index] = dict(block)
            case {"type": "content_block_delta", "index": index, "delta": delta}:
                inputs.setdefault(index, []).append(delta.pop("partial_json", ""))
                _extend(blocks[index], delta)
            case _:
                pass
    for index, parts in inputs.items():
        if given := "".join(parts):
            blocks[index]["input"] = _input(given)
    return [{"role": message["role"], "content": [blocks[index] for index in sorted(blocks)]}]


def _extend(block: Message, delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if name == "citation":
            block["citations"] = [*(block.get("citations") or ()), value]
        elif name != "type":
            block[name] = (block.get(name) or "") + value if isinstance(value, str) else value


def _input(given: str) -> Any:
    """Return the input of a call; a stream that was stopped leaves only a part of it."""
    try:
        return json.loads(given)
    except ValueError:
        return {"raw_arguments": given}


def _items(events: Sequence[Any]) -> Sequence[Any]:
    output: Any = None
    items = dict[Any, _Item]()
    for event in events:
        kind = str(field_of(event, "type"))
        place = field_of(event, "output_index")
        given, name = field_of(event, "item"), kind.rpartition(".")[2]
        if kind in _FINAL:
            output = field_of(field_of(event, "response"), "output")
        elif given is not None:
            key = field_of(given, "id") if place is None else place
            items.setdefault(key, _Item()).take(given, is_done=name == "done")
        elif name == "done" or name.startswith("delta"):
            key = field_of(event, "item_id") if place is None else place
            part = kind.split(".")[1], field_of(event, "content_index") or 0
            fields = _WHOLE if name == "done" else (name,)
            text = next(filter(None, (field_of(event, each) for each in fields)), "")
            items.setdefault(key, _Item()).add(part, text, is_whole=name == "done")
    found = [made for item in items.values() if (made := item.made()) is not None]
    return output or found or [{"role": "assistant", "content": ""}]


@define
class _Item:
    """An item of a response that arrives in parts; a stream that was stopped may leave it open."""

    item: Any = None
    is_done: bool = False
    texts: dict[tuple[str, int], list[str]] = Factory(dict)

    def take(self, item: Any, *, is_done: bool) -> None:
        """Note the item as it begins, or whole."""
        if not self.is_done:
            self.item, self.is_done = item, is_done

    def add(self, part: tuple[str, int], text: object, *, is_whole: bool) -> None:
        """Add a piece of the text of a part, which is its type and place, or the whole of it."""
        pieces = self.texts.setdefault(part, [])
        if is_whole and text:
            pieces.clear()
        pieces.append(text if isinstance(text, str) else "")

    def made(self) -> Any:
        """Return the item; of one that is not whole, the text or the call so far, or None."""
        if self.is_done:
            return self.item
        texts = {part: "".join(pieces) for part, pieces in sorted(self.texts.items())}
        said = [
            {"type": kind, _SAID[kind]: text} for (kind, _), text in texts.items() if kind in _SAID
        ]
        begun = dumped(self.item) or {"type": "message", "role": "assistant"}
        match begun.get("type"):
            case "message" if said:
                return {**begun, "status": "incomplete", "content": said}
            case "function_call" | "custom_tool_call" as kind:
                body = "arguments" if kind == "function_call" else "input"
                return {**begun, "status": "incomplete", body: "".join(texts.values())}
            case _:
                return None


_WHOLE = ("text", "refusal", "arguments", "input")
"""The fields with the whole text of a part, in the event at its end."""
_SAID = {"output_text": "text", "refusal": "refusal"}
"""The field of the text of each type of content."""


def _contents(answers: Sequence[Any]) -> Sequence[Message] | None:
    """Return the content of Gemini's responses to a request, or None for several answers.

    A blocked prompt has no content; its answer has no parts.

    >>> said = [{"content": {"role": "model", "parts": [{"text": text}]}} for text in ("Plu", "ms")]
    >>> _contents([{"candidates": [each]} for each in said])
    [{'role': 'model', 'parts': [{'text': 'Plums'}]}]
    """
    parts = list[Any]()
    for answer in map(dumped, answers):
        candidates = answer.get("candidates") or ()
        if len(candidates) > 1:
            return None
        for candidate in candidates:
            parts += (candidate.get("content") or {}).get("parts") or ()
    return [{"role": "model", "parts": _joined_parts(parts)}]


def _joined_parts(parts: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return `parts` with the pieces of one text joined; only the last piece is signed."""
    joined: list[Message] = []
    for part in parts:
        last = joined[-1] if joined else {}
        is_more = "text" in part and last.keys() - {"thought"} == {"text"}
        if is_more and part.get("thought") == last.get("thought"):
            joined[-1] = {**part, "text": last["text"] + part["text"]}
        else:
            joined.append({**part})
    return joined


_ASSEMBLERS: Mapping[Provider, Callable[[Sequence[Any]], Sequence[Any] | None]] = {
    Provider.OPENAI: _chat,
    Provider.ANTHROPIC: _messages,
    Provider.RESPONSES: _items,
    Provider.GEMINI: _contents,
}
