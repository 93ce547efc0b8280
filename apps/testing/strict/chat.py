"""A strict stand-in for OpenAI's Chat Completions with scripted answers."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from attrs import define

from polycontext.window.providers import Provider
from polycontext.window.providers.layout import without

from .provider import Event, Request, RequestRefusedError, invalid_request
from .scripted import Scripted
from .streams import pieces

Answer = str | Mapping[str, Any]
"""A reply of the model: a text, or an assistant message, optionally with its `finish_reason`."""

_BODIES = {"function": "arguments", "custom": "input"}
_NO_PROMPT = {"cached_tokens": 0, "cache_write_tokens": 0, "audio_tokens": 0}
_NO_COMPLETION = {
    "reasoning_tokens": 0,
    "audio_tokens": 0,
    "accepted_prediction_tokens": 0,
    "rejected_prediction_tokens": 0,
}


@define(eq=False)
class StrictChat(Scripted):
    """A provider that answers ``/v1/chat/completions`` as OpenAI does, and rejects what it rejects.

    The reply is a text or an assistant message, optionally with its `finish_reason`. Calls without
    an id get one.

    Source: the vendor's reference of chat completions; the rules are those of
    `polycontext.window.providers.chat.rules`.

    >>> chat = StrictChat(lambda request: f"{len(request['messages'])} messages")
    >>> chat.create({"model": "gpt-5.6", "messages": [{"role": "user", "content": "hi"}]})[
    ...     "choices"
    ... ][0]["message"]["content"]
    '1 messages'
    """

    provider: ClassVar[Provider] = Provider.OPENAI
    messages: ClassVar[str] = "messages"

    @property
    def path(self) -> str:
        """Return the path of a request."""
        return "/v1/chat/completions"

    def render(self, request: Request, reply: Answer, tokens: int) -> dict[str, Any]:
        """Return `reply` as an answer."""
        name = self.new_name(request)
        message, finish = _message(reply, name)
        said = self._tokens.of(message)
        return {
            "id": f"chatcmpl-{name}",
            "object": "chat.completion",
            "created": int(self.clock()),
            "model": request["model"],
            "service_tier": "default",
            "system_fingerprint": "fp_strict",
            "choices": [
                {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
            ],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": said,
                "total_tokens": tokens + said,
                "prompt_tokens_details": dict(_NO_PROMPT),
                "completion_tokens_details": dict(_NO_COMPLETION),
            },
        }

    def events(self, request: Request, answer: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a stream of `answer`."""
        with_usage = bool((request.get("stream_options") or {}).get("include_usage"))
        (choice,), usage = answer["choices"], answer["usage"]
        frame = without(answer, "choices", "usage") | {"object": "chat.completion.chunk"}
        chunk = frame | ({"usage": None} if with_usage else {})
        for delta in _deltas(choice["message"]):
            yield Event(None, chunk | {"choices": [_choice(delta, None)]})
        yield Event(None, chunk | {"choices": [_choice({}, choice["finish_reason"])]})
        if with_usage:
            yield Event(None, frame | {"choices": [], "usage": usage})
        yield Event(None, "[DONE]")

    def overflow(self, tokens: int) -> RequestRefusedError:
        """Return the vendor's error for a request of too many tokens."""
        message = (
            f"This model's maximum context length is {self.window} tokens. However, your messages "
            f"resulted in {tokens} tokens. Please reduce the length of the messages."
        )
        legal, code = f"at most {self.window} tokens", "context_length_exceeded"
        return invalid_request(message, "overflow", None, legal, code, param="messages")


def _choice(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _message(answer: Answer, name: str) -> tuple[dict[str, Any], str]:
    """Return `answer` as a message of the vendor's, and its finish reason."""
    given: dict[str, Any] = {"content": answer} if isinstance(answer, str) else dict(answer)
    calls = [_call(call, name, index) for index, call in enumerate(given.pop("tool_calls", ()))]
    finish = given.pop("finish_reason", "tool_calls" if calls else "stop")
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "annotations": [],
    } | given
    return (message | {"tool_calls": calls} if calls else message), finish


def _call(call: Mapping[str, Any], name: str, index: int) -> dict[str, Any]:
    return {"id": f"call_{name}{index:03d}", "type": "function"} | dict(call)


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    content, refusal = message["content"], message["refusal"]
    yield {"role": "assistant", "content": "" if content is not None else None, "refusal": None}
    for piece in pieces(content or ""):
        yield {"content": piece}
    for piece in pieces(refusal or ""):
        yield {"refusal": piece}
    for index, call in enumerate(message.get("tool_calls", ())):
        yield from _call_deltas(index, call)
    further = without(message, "role", "content", "refusal", "annotations", "tool_calls")
    if further:
        yield further


def _call_deltas(index: int, call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = call["type"]
    argument = _BODIES[kind]
    yield {
        "tool_calls": [{"index": index} | dict(call) | {kind: dict(call[kind]) | {argument: ""}}]
    }
    for piece in pieces(call[kind][argument]):
        yield {"tool_calls": [{"index": index, kind: {argument: piece}}]}
