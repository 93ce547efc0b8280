"""A strict stand-in for OpenAI's Chat Completions with scripted answers.

It rejects what the vendor rejects, with the vendor's messages.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from attrs import define, field, frozen

from polycontext.window import REQUEST_OVERHEAD
from polycontext.window.providers import Provider, load_errors, without
from polycontext.window.providers.chat import ChatJudge
from polycontext.window.tokens import TURN_OVERHEAD

from .memory import MOST_PREFIXES, Memory, chain, json_bytes, longest
from .openai import OpenAIOptions
from .openai_requests import check_chat_fields
from .prefix_cache import CacheUse
from .provider import Endpoint, Event, Headers, Request, interrupt, invalid_request, vendor_errors
from .streams import pieces

Answer = str | Mapping[str, Any]
"""A reply of the model: a text, or an assistant message, optionally with its `finish_reason`."""

_BODIES = {"function": "arguments", "custom": "input"}
_UNKNOWN = "The model `{model}` does not exist or you do not have access to it."


@frozen
class _Learned:
    judge: ChatJudge
    tokens: list[int]


@frozen
class _Turned:
    """The parts of an answer: the message, its finish reason and its usage."""

    id: str
    message: dict[str, Any]
    finish: str
    usage: dict[str, Any]


@define(eq=False)
class StrictChat(OpenAIOptions):
    """A provider that answers ``/v1/chat/completions`` as OpenAI does, and rejects what it rejects.

    Safe under threads.

    Args:
        reply: Returns the model's reply to a request: a text, or an assistant message. Calls
            without an id get one.

    Source: the vendor's reference of chat completions; the rules are those of
    `polycontext.window.providers.chat.rules`.

    >>> chat = StrictChat(lambda request: f"{len(request['messages'])} messages")
    >>> chat.create({"model": "gpt-5.6", "messages": [{"role": "user", "content": "hi"}]})[
    ...     "choices"
    ... ][0]["message"]["content"]
    '1 messages'
    """

    reply: Callable[[Request], Answer]
    _prefixes: Memory[_Learned] = field(
        init=False, repr=False, factory=lambda: Memory[_Learned](MOST_PREFIXES)
    )

    @property
    def path(self) -> str:
        """Return the path of a request."""
        return "/v1/chat/completions"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return an empty mapping: there are no further paths."""
        return {}

    def create(self, request: Request, *, headers: Headers | None = None) -> dict[str, Any]:
        """Return the vendor's answer.

        Raises:
            RequestRefusedError: OpenAI would reject the request, or a scripted fault.
            ConnectionError: the script breaks the connection here.
        """
        self.faults.connect()
        turned = self._turn(request)
        choice = {
            "index": 0,
            "message": turned.message,
            "logprobs": None,
            "finish_reason": turned.finish,
        }
        return self._frame(request, turned, "chat.completion") | {
            "choices": [choice],
            "usage": turned.usage,
        }

    def stream(self, request: Request, *, headers: Headers | None = None) -> Iterator[Event]:
        """Return the vendor's answer as events; the request is judged before the first of them.

        Raises:
            RequestRefusedError: as for `create`.
            ConnectionError: the script breaks the stream, here or between two events.
        """
        fault = self.faults.next()
        return interrupt(self._events(request, self._turn(request)), fault)

    def _turn(self, request: Request) -> _Turned:
        use, tokens, prefix = self._judge(request)
        name = self.new_name(prefix)
        message, finish = _message(self.reply(request), name)
        said = self._tokens.of(message)
        own = f"chatcmpl-{name}"
        return _Turned(own, message, finish, _usage(tokens, said, use))

    def _judge(self, request: Request) -> tuple[CacheUse, int, bytes]:
        """Judge `request`, and return its cache use, its tokens and the digest of its messages."""
        with vendor_errors():
            check_chat_fields(request)
            for error in load_errors(Provider.OPENAI, request["messages"]):
                raise error
        self.known_model(request, _UNKNOWN, None)
        start = json_bytes(
            [request.get("model"), request.get("tools"), request.get("prompt_cache_key")]
        )
        digests = chain(start, map(json_bytes, request["messages"]))
        tokens = self._learn(request, digests)
        if tokens[-1] > self.window:
            message = (
                f"This model's maximum context length is {self.window} tokens. However, your "
                f"messages resulted in {tokens[-1]} tokens. "
                "Please reduce the length of the messages."
            )
            legal, code = f"at most {self.window} tokens", "context_length_exceeded"
            raise invalid_request(message, "overflow", None, legal, code, param="messages")
        return self._cache.serve_automatic(digests, tokens), tokens[-1], digests[-1]

    def _learn(self, request: Request, digests: Sequence[bytes]) -> list[int]:
        """Judge and count the messages after the longest known prefix.

        Returns the tokens up to each message.
        """
        known, learned = longest(self._prefixes, digests)
        judge, counted = (
            (ChatJudge(), []) if learned is None else (learned.judge.copy(), learned.tokens)
        )
        new = request["messages"][known:]
        with vendor_errors():
            for message in new:
                judge.add(message)
        before = (
            counted[-1] if counted else REQUEST_OVERHEAD + self._tokens.tools(request.get("tools"))
        )
        tokens = (
            counted
            + [
                *accumulate(
                    (self._tokens.of(message) + TURN_OVERHEAD for message in new), initial=before
                )
            ][1:]
        )
        if digests:
            self._prefixes.keep(digests[-1], _Learned(judge, tokens))
        with vendor_errors():
            judge.end()
        return tokens

    def _frame(self, request: Request, turned: _Turned, kind: str) -> dict[str, Any]:
        made = int(self.clock())
        further = {"service_tier": "default", "system_fingerprint": "fp_strict"}
        return {
            "id": turned.id,
            "object": kind,
            "created": made,
            "model": request["model"],
        } | further

    def _events(self, request: Request, turned: _Turned) -> Iterator[Event]:
        options = request.get("stream_options") or {}
        with_usage = bool(options.get("include_usage"))
        frame = self._frame(request, turned, "chat.completion.chunk") | (
            {"usage": None} if with_usage else {}
        )
        for delta in _deltas(turned.message):
            yield Event(None, frame | {"choices": [_choice(delta, None)]})
        yield Event(None, frame | {"choices": [_choice({}, turned.finish)]})
        if with_usage:
            yield Event(None, frame | {"choices": [], "usage": turned.usage})
        yield Event(None, "[DONE]")


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


def _usage(prompt: int, said: int, use: CacheUse) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": said,
        "total_tokens": prompt + said,
        "prompt_tokens_details": {
            "cached_tokens": use.read,
            "cache_write_tokens": use.all_written,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
