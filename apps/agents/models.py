"""Models behind the SDKs of vendors: a node's form goes out as structured output, or as a tool."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from inspect import isawaitable
from operator import attrgetter
from typing import Any

from attrs import Factory, field, frozen

from polycontext.base import InvalidOptionError, require, with_usage
from polycontext.window.providers import dumped

from .requests import ModelRequest

_END = object()


@frozen
class _Api:
    """One vendor's API: how it is asked, and where the text stands in what it gives back."""

    ask: str
    """The method of a client."""
    arguments: Callable[[ModelRequest, str, int], dict[str, Any]]
    answer: Callable[[Any], Any]
    piece: Callable[[Any], str | None]
    stream: str = field(default=Factory(lambda self: self.ask, takes_self=True))


@frozen
class SdkModel:
    """A model behind an SDK's client, sync or async; `model_of` makes one.

    Neither kind blocks an event loop. `Agent.send` needs a blocking one.
    """

    client: Any
    name: str
    max_tokens: int
    api: _Api

    def complete(self, request: ModelRequest) -> Any:
        """Return an assistant message with the answer and the usage that the vendor reports.

        Its content is a text, or JSON data where the vendor gives it apart.

        Raises:
            InvalidOptionError: the client is async.
        """
        legal = "a blocking client, or asend() and arun()"
        require("client", type(self.client).__name__, not self._is_async, legal)
        return self._message(self._call(self.api.ask, request))

    async def acomplete(self, request: ModelRequest) -> Any:
        """Return the message without blocking the event loop."""
        if self._is_async:
            return self._message(await self._call(self.api.ask, request))
        return await asyncio.to_thread(self.complete, request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | Mapping[str, Any]]:
        """Yield the answer in pieces, and last the usage that the vendor reports."""
        more, usage = dict[str, Any](), dict[str, Any]()
        if self.api is not GEMINI:
            more["stream"] = True
        if self.api is CHAT:
            more["stream_options"] = {"include_usage": True}
        if self._is_async:
            events = await self._call(self.api.stream, request, **more)
        else:
            events = _in_thread(
                iter(await asyncio.to_thread(self._call, self.api.stream, request, **more))
            )
        try:
            async for event in events:
                usage |= _usage_in(event)
                if piece := self.api.piece(event):
                    yield piece
            yield {"usage": usage, "model": self.name}
        finally:
            close = getattr(events, "close", None) or getattr(events, "aclose", None)
            if close is not None and isawaitable(closing := close()):
                await closing

    @property
    def _is_async(self) -> bool:
        return type(self.client).__name__.startswith("Async")

    def _message(self, response: Any) -> dict[str, Any]:
        content, usage = self.api.answer(response), _usage_in(response)
        return {"role": "assistant", "content": content, "usage": usage, "model": self.name}

    def _call(self, method: str, request: ModelRequest, **more: Any) -> Any:
        told = self.api.arguments(request, self.name, self.max_tokens)
        return attrgetter(method)(self.client)(**told, **more)


async def _in_thread(events: Iterator[Any]) -> AsyncIterator[Any]:
    """Yield the events of a blocking stream, each waited for in a thread."""
    try:
        while (event := await asyncio.to_thread(next, events, _END)) is not _END:
            yield event
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()


def _usage_in(response: Any) -> dict[str, Any]:
    """Return the usage that a response, or an event of a stream, reports."""
    holders = (response, *(getattr(response, name, None) for name in ("response", "message")))
    found = (getattr(each, name, None) for each in holders for name in ("usage", "usage_metadata"))
    usage = dumped(next(filter(None, found), {}))
    return {name: value for name, value in usage.items() if value is not None}


def _chat_arguments(request: ModelRequest, name: str, max_tokens: int) -> dict[str, Any]:
    form = {"name": request.node, "schema": request.schema, "strict": True}
    told = {"response_format": {"type": "json_schema", "json_schema": form}}
    return {
        "model": name,
        "messages": [{"role": "user", "content": request.prompt}],
        "max_completion_tokens": max_tokens,
        **(told if request.schema else {}),
    }


def _responses_arguments(request: ModelRequest, name: str, max_tokens: int) -> dict[str, Any]:
    form = {"type": "json_schema", "name": request.node, "schema": request.schema, "strict": True}
    return {
        "model": name,
        "input": [{"role": "user", "content": request.prompt}],
        "max_output_tokens": max_tokens,
        "store": False,
        **({"text": {"format": form}} if request.schema else {}),
    }


def _anthropic_arguments(request: ModelRequest, name: str, max_tokens: int) -> dict[str, Any]:
    tool = {"name": request.node, "description": "Answer.", "input_schema": request.schema}
    told = {"tools": [tool], "tool_choice": {"type": "tool", "name": request.node}}
    return {
        "model": name,
        "messages": [{"role": "user", "content": request.prompt}],
        "max_tokens": max_tokens,
        **(told if request.schema else {}),
    }


def _gemini_arguments(request: ModelRequest, name: str, max_tokens: int) -> dict[str, Any]:
    told = {"response_mime_type": "application/json", "response_json_schema": request.schema}
    return {
        "model": name,
        "contents": [{"role": "user", "parts": [{"text": request.prompt}]}],
        "config": {"max_output_tokens": max_tokens, **(told if request.schema else {})},
    }


def _anthropic_answer(message: Any) -> Any:
    used: Any = next((part.input for part in message.content if part.type == "tool_use"), None)
    if isinstance(used, Mapping):
        return used
    return "".join(part.text for part in message.content if part.type == "text")


def _chat_piece(chunk: Any) -> str | None:
    return chunk.choices[0].delta.content if chunk.choices else None


def _responses_piece(event: Any) -> str | None:
    return event.delta if event.type == "response.output_text.delta" else None


def _anthropic_piece(event: Any) -> str | None:
    return getattr(event.delta, "text", None) if event.type == "content_block_delta" else None


CHAT = _Api(
    "chat.completions.create",
    _chat_arguments,
    lambda completion: completion.choices[0].message.content,
    _chat_piece,
)
RESPONSES = _Api(
    "responses.create",
    _responses_arguments,
    lambda response: response.output_text,
    _responses_piece,
)
ANTHROPIC = _Api(
    "messages.create",
    _anthropic_arguments,
    _anthropic_answer,
    _anthropic_piece,
)
GEMINI = _Api(
    "models.generate_content",
    _gemini_arguments,
    lambda response: response.text,
    lambda chunk: chunk.text,
    "models.generate_content_stream",
)
_APIS = {"openai": CHAT, "openai-responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}
_OF_SDK = {"openai": "openai", "anthropic": "anthropic", "google": "gemini"}


@with_usage
def model_of(
    client: Any, name: str, *, provider: str | None = None, max_tokens: int = 4096
) -> SdkModel:
    """Return the model called `name` behind an SDK's client, for an `Agent`.

    Args:
        client: a client of the packages ``openai``, ``anthropic`` or ``google.genai``.
        name: the model.
        provider: the API, by default that of the client: ``openai``, ``openai-responses``,
            ``anthropic`` or ``gemini``.
        max_tokens: the most tokens of an answer.

    Raises:
        InvalidOptionError: another client or provider.
    """
    # A client's class may derive from the SDK's, as that of a wrapped client does.
    packages = [kind.__module__.partition(".")[0] for kind in type(client).__mro__]
    known = [_OF_SDK[each] for each in packages if each in _OF_SDK]
    api = _APIS.get(provider or (*known, "")[0])
    if api is None:
        legal = ", ".join(_APIS)
        option, value = ("provider", provider) if provider else ("client", packages[0])
        raise InvalidOptionError(option, value, f"one of {legal}")
    return SdkModel(client, name, max_tokens, api)
