"""Whole answers as the SDKs hand them out, opened into the messages that they hold."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from .blocks import Place, copied_messages
from .wire import Provider

_ONCE = frozenset({"role", "type", "id", "name"})
"""Texts that a chunk holds whole."""
_PLACE = Place(Provider.OPENAI, None)
_LEGAL = "an answer with one choice, or the message itself"


def opened(messages: object) -> object:
    """Replace each answer in a list by its messages: a chat completion, a response, the chunks of a chat stream.

    Raises:
        InvalidMessagesError: rule bad-answer: an answer without a message or with several choices, or another stream's event.

    >>> opened([{"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hello!"}}]}])
    [{'role': 'assistant', 'content': 'Hello!'}]
    """
    if not isinstance(messages, list | tuple):
        return messages
    runs = ([[*run]] if is_chunk else run for is_chunk, run in groupby(messages, _is_chunk))
    return [message for run in runs for answer in run for message in _messages(answer)]


def _messages(answer: Any) -> Iterable[Any]:
    if isinstance(answer, list | tuple) and answer and all(map(_is_chunk, answer)):
        return [{"role": "assistant", "content": None, **_only(_gathered(answer), "delta")}]
    choices, output, kind = (_field(answer, name) for name in ("choices", "output", "type"))
    if isinstance(choices, list):
        return [_only(choices, "message")]
    if isinstance(output, list) and _field(answer, "object") == "response":
        return output
    if isinstance(kind, str) and kind.startswith(("message_", "content_block_", "response.")):
        legal = "the whole answer: stream.get_final_message() or stream.get_final_response()"
        raise _PLACE.refuse("bad-answer", f"{kind} is an event of a stream", legal)
    return [answer]


def _only(choices: Any, name: str) -> Any:
    message = _field(choices[0], name) if isinstance(choices, list) and len(choices) == 1 else None
    if message is None or isinstance(message, str):
        raise _PLACE.refuse("bad-answer", "an answer without a message, or with several choices", _LEGAL)
    return message


def _field(value: object, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    return getattr(value, name, None) if hasattr(value, "model_dump") else None


# --- the chunks of a chat stream --------------------------------------------------


def _is_chunk(value: object) -> bool:
    return bool(_field(value, "object") == "chat.completion.chunk")


def _gathered(chunks: Sequence[Any]) -> Any:
    """Return the choices that were streamed. O(characters)."""
    whole: dict[Any, Any] = {}
    try:
        for chunk in copied_messages(Provider.OPENAI, chunks):
            _gather(whole, {"choices": chunk.get("choices")})
        return _settled(whole).get("choices")
    except (AttributeError, TypeError):
        raise _PLACE.refuse("bad-answer", "chunks that make no message", "the chunks of one answer, in order") from None


def _gather(whole: dict[Any, Any], delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if isinstance(value, str) and name not in _ONCE:
            whole.setdefault(name, []).append(value)
        elif isinstance(value, Mapping):
            _gather(whole.setdefault(name, {}), value)
        elif isinstance(value, list):
            entries = whole.setdefault(name, {}) if value else {}
            for each in value:
                _gather(entries.setdefault(each.get("index", len(entries)), {}), each)
        elif value:
            whole[name] = value


def _settled(value: Any) -> Any:
    if isinstance(value, list):
        return "".join(value)
    if not isinstance(value, dict):
        return value
    if value and all(isinstance(name, int) for name in value):
        return [_settled(value[name]) for name in sorted(value)]
    return {name: _settled(inner) for name, inner in value.items() if name != "index"}
