"""A strict stand-in for OpenAI's Responses with scripted answers.

It stores no responses and does not compact; encrypted contents are not opened.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from attrs import define

from polycontext.window.providers import Provider
from polycontext.window.providers.layout import without
from polycontext.window.providers.responses.item_rules import ID_STARTS

from .provider import (
    TABLES,
    Endpoint,
    Event,
    Headers,
    Request,
    RequestRefusedError,
    invalid_request,
)
from .scripted import Scripted
from .streams import response_events

Item = Mapping[str, Any]
Answer = str | Item | Sequence[Item]
"""A reply of the model: a text, an output item, or several. Missing ids, call ids and encrypted
contents are filled in; a reasoning item may state its ``tokens``."""

REASONING_TOKENS = 64
"""The tokens of a reasoning item that does not state them."""

DEFAULTS: Mapping[str, Any] = TABLES["response"]
"""The values in a response of options that its request did not set."""

STARTS: Mapping[str, str] = {
    **ID_STARTS,
    "tool_search_call": "tsc",
    "shell_call": "sh",
    "apply_patch_call": "apc",
    "mcp_call": "mcp",
}
"""The start of an item's id, by type."""


@define(eq=False)
class StrictResponses(Scripted):
    """A provider that answers ``/v1/responses`` as OpenAI does, and rejects what it rejects.

    The reply is a text, an output item or several. ``/v1/responses/input_tokens`` counts tokens.

    Source: the vendor's reference of responses; the rules are those of
    `polycontext.window.providers.responses.rules`.

    >>> responses = StrictResponses(lambda request: "hello")
    >>> responses.create({"model": "gpt-5.6", "input": "hi"})["output"][0]["content"][0]["text"]
    'hello'
    """

    provider: ClassVar[Provider] = Provider.RESPONSES
    messages: ClassVar[str] = "input"
    system: ClassVar[str] = "instructions"

    @property
    def path(self) -> str:
        """Return the path of a request for a response."""
        return "/v1/responses"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return the handlers of further paths: the token count."""
        return {"/v1/responses/input_tokens": self.input_tokens}

    def input_tokens(self, request: Request, headers: Headers | None = None) -> dict[str, Any]:
        """Return the tokens of the input of `request`.

        Raises:
            RequestRefusedError: as for `create`.
        """
        return {"object": "response.input_tokens", "input_tokens": self.size(request)}

    def check(self, request: Request) -> None:
        """Raise `RequestRefusedError` for a request that breaks a rule, or continues a response."""
        super().check(request)
        for param, rule in (
            ("previous_response_id", "unknown-response"),
            ("conversation", "unknown-conversation"),
        ):
            if request.get(param) is not None:
                message = f"'{param}' not found: {request[param]!r}."
                legal = "the whole input: this provider stores nothing"
                raise invalid_request(message, rule, None, legal, param=param, status=404)

    def render(self, request: Request, reply: Answer, tokens: int) -> dict[str, Any]:
        """Return `reply` as an answer."""
        name = self.new_name(request)
        said = {"content": reply} if isinstance(reply, str) else reply
        given: list[Item] = [said] if isinstance(said, Mapping) else [*said]
        output = [output_item(item, name, place) for place, item in enumerate(given)]
        thought = [item for item in given if item.get("type") == "reasoning"]
        reasoning = sum(int(item.get("tokens", REASONING_TOKENS)) for item in thought)
        usage = usage_of(tokens, reasoning + self._tokens.of(output), reasoning)
        response = self.frame(request, name) | {"output": output, "usage": usage}
        if usage["output_tokens"] > (request.get("max_output_tokens") or usage["output_tokens"]):
            response["status"] = "incomplete"
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        return response

    def frame(self, request: Request, name: str) -> dict[str, Any]:
        """Return a response without output and usage."""
        made = int(self.clock())
        own = {
            "id": f"resp_{name}",
            "object": "response",
            "created_at": made,
            "status": "completed",
            "completed_at": made,
        }
        asked = {key: request[key] for key in (*DEFAULTS, "model") if request.get(key) is not None}
        return {**own, **DEFAULTS, **asked}

    def events(self, request: Request, answer: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a stream of `answer`."""
        return response_events(answer)

    def overflow(self, tokens: int) -> RequestRefusedError:
        """Return the vendor's error for a request of too many tokens."""
        message = (
            "Your input exceeds the context window of this model. Please adjust your input and try "
            "again."
        )
        legal, code = f"at most {self.window} tokens", "context_length_exceeded"
        return invalid_request(message, "overflow", None, legal, code, param="input")


def output_item(given: Item, name: str, place: int) -> dict[str, Any]:
    """Return the output item that `given` scripts, at `place` of the response `name`."""
    kind = given.get("type", "message")
    own = f"{STARTS.get(kind, kind[:3])}_{name}{place:04x}"
    item: dict[str, Any] = {"id": own, "type": kind} | without(given, "tokens")
    match kind:
        case "message":
            content = _content(given.get("content"))
            return {"role": "assistant", "status": "completed", **item, "content": content}
        case "reasoning":
            secret = b64encode(own.encode()).decode()
            return {"summary": [], "encrypted_content": secret} | item
        case "function_call" | "custom_tool_call":
            return {"call_id": f"call_{name}{place:03d}", "status": "completed"} | item
        case _:
            return item


def usage_of(given: int, said: int, reasoning: int) -> dict[str, Any]:
    """Return the usage of a response: its input, its output, and the reasoning in that."""
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": given + said,
    }


def _content(given: Any) -> list[dict[str, Any]]:
    parts = [{"type": "output_text", "text": given}] if isinstance(given, str) else given or ()
    return [
        ({"annotations": [], "logprobs": []} if part["type"] == "output_text" else {}) | dict(part)
        for part in parts
    ]
