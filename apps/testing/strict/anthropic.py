"""A strict stand-in for Anthropic's Messages API with scripted answers."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from attrs import define, field

from polycontext.window.providers import Provider

from .provider import Endpoint, Event, Headers, Request, RequestRefusedError, invalid_request
from .scripted import Scripted, check_window
from .streams import message_events

Reply = str | Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""A reply of the model: text, blocks, or an object with `content` and optional `stop_reason`."""


@define(eq=False)
class StrictAnthropic(Scripted):
    """A provider that answers as Anthropic's Messages API, in process or behind a `StrictServer`.

    The reply is text, blocks, or an object with `content` and optional `stop_reason`. Thinking
    without a signature and calls without an id get one.

    >>> provider = StrictAnthropic(lambda request: "Hello.")
    >>> hi = [{"role": "user", "content": "hi"}]
    >>> answer = provider.create({"model": "m", "max_tokens": 99, "messages": hi})
    >>> answer["content"], answer["stop_reason"]
    ([{'type': 'text', 'text': 'Hello.'}], 'end_turn')
    >>> empty = [{"role": "user", "content": ""}]
    >>> provider.create({"model": "m", "max_tokens": 99, "messages": empty})
    Traceback (most recent call last):
    polycontext.errors.RequestRefusedError: 400 invalid_request_error: \
messages.0: all messages must have non-empty content except for the optional final assistant \
message (rule empty-message; use content; only a final assistant message may be empty)
    """

    provider: ClassVar[Provider] = Provider.ANTHROPIC
    messages: ClassVar[str] = "messages"
    system: ClassVar[str] = "system"
    window: int = field(default=200_000, validator=check_window, kw_only=True)

    @property
    def path(self) -> str:
        """Return the path of a request for an answer."""
        return "/v1/messages"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return the handlers of further paths: the token count."""
        return {
            "/v1/messages/count_tokens": lambda request, headers: self.count_tokens(
                request, headers=headers
            )
        }

    def count_tokens(self, request: Request, *, headers: Headers | None = None) -> dict[str, Any]:
        """Return the tokens of `request`, or raise `RequestRefusedError` as if it were sent."""
        return {"input_tokens": self.size({"max_tokens": 1, **request})}

    def error_body(self, refusal: RequestRefusedError) -> dict[str, Any]:
        """Return `refusal` as the JSON body that the vendor sends."""
        details = {"details": {"error_code": refusal.code}} if refusal.code else {}
        error = {"type": refusal.kind, "message": refusal.message, **details}
        return {"type": "error", "error": error, "request_id": "req_strict"}

    def render(self, request: Request, reply: Reply, tokens: int) -> dict[str, Any]:
        """Return `reply` as an answer."""
        name = self.new_name(request)
        given = reply if isinstance(reply, Mapping) else {"content": reply}
        content = [
            _finished(block, f"{name}{number:02d}")
            for number, block in enumerate(text_blocks(given.get("content")))
        ]
        calls = any(block["type"] == "tool_use" for block in content)
        return message_of(
            f"msg_{name}",
            request,
            content,
            str(given.get("stop_reason") or ("tool_use" if calls else "end_turn")),
            {
                "input_tokens": tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": max(1, self._tokens.of(content)),
                "service_tier": "standard",
            },
        )

    def events(self, request: Request, answer: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a stream of `answer`."""
        return message_events(answer)

    def overflow(self, tokens: int) -> RequestRefusedError:
        """Return the vendor's error for a request of too many tokens."""
        message = f"prompt is too long: {tokens} tokens > {self.window} maximum"
        return invalid_request(message, "overflow", None, f"at most {self.window} tokens")


def message_of(
    name: str,
    request: Request,
    content: Sequence[Mapping[str, Any]],
    stop: str,
    usage: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the fields of an answer."""
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def text_blocks(content: object) -> list[Mapping[str, Any]]:
    """Return content as blocks; text becomes one block, or none if it is empty."""
    if isinstance(content, str) and content:
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list | tuple) else []


def _finished(block: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a scripted block with the fields that the vendor fills in."""
    match block["type"]:
        case "thinking":
            return {"signature": b64encode(name.encode()).decode(), **block}
        case "redacted_thinking":
            return {"data": b64encode(name.encode()).decode(), **block}
        case "tool_use":
            return {"type": "tool_use", "id": f"toolu_{name}", **block}
        case _:
            return dict(block)
