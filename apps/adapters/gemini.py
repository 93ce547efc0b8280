"""Wrapper that fits the requests of Google's genai client into a window (docs/adapters.md)."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, TypeVar, cast

from attrs import evolve

from polycontext.base import InvalidOptionError, require_extra, with_usage

from .bridge import Bridge, Fitted, find_session
from .dialect import Piece
from .wire_dialect import Message, WireDialect

require_extra("google.genai", extra="gemini", purpose=__name__)

Client = TypeVar("Client")
_PATHS = (":generateContent", ":streamGenerateContent")


@with_usage
def wrap(client: Client, model: Any = None, **options: Any) -> Client:
    """Return a client of the same type whose requests fit into the window of `model`.

    `options` are those of `Sessions`.

    Keep all contents and send them every time, as the SDK's chats do: the client sends a view of
    them. It covers `models`, `chats` and `aio`, streamed or not; all other requests, such as token
    counts, are sent unchanged. If the client was wrapped before, the new wrapping replaces the old
    one.

    Raises:
        InvalidOptionError: not a client of the SDK, or an invalid option.
    """
    given: Any = client
    api = getattr(given, "_api_client", None)
    if api is None or not hasattr(api, "request_streamed"):
        raise InvalidOptionError("client", client, "a Client of the package google-genai")
    bridge = Bridge(GeminiDialect(), model=model, **options)
    fitting = _Fitting(getattr(api, "inner", api), bridge, given)
    wrapped = copy(given)
    kind = type(given)
    # The connection is closed with the client that made it, not with a copy.
    own = {
        "__del__": lambda _: None,
        "session": lambda _, contents, /: find_session([bridge], contents),
    }
    wrapped.__class__ = type(kind.__name__, (kind,), own)
    wrapped._api_client = fitting  # noqa: SLF001 - the one object that all requests go through
    wrapped._models = type(given.models)(fitting)  # noqa: SLF001
    wrapped._aio = type(given.aio)(fitting)  # noqa: SLF001
    return cast("Client", wrapped)


class GeminiDialect(WireDialect):
    """Read and write Gemini's contents as JSON data."""

    def __init__(self) -> None:
        super().__init__("gemini")

    def split(self, natives: Sequence[Message]) -> Iterator[Piece]:
        """Yield the turns of contents; results are named, as they may be written without a call."""
        names: dict[str | None, str] = {}
        for piece in super().split(natives):
            turn = piece.turn
            names |= {call.id: call.name for call in turn.tool_calls}
            name = turn.name or names.get(turn.tool_call_id)
            yield evolve(piece, turn=evolve(turn, name=name)) if turn.tool_call_id else piece


class _Fitting:
    """The SDK's connection, with requests for content fitted; anything else is passed on."""

    def __init__(self, inner: Any, bridge: Bridge[Message], owner: object) -> None:
        self.inner, self._bridge, self._owner = inner, bridge, owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def request(self, method: str, path: str, request: Any, *args: Any) -> Any:
        """Return the answer to a request."""
        if not _asks_for_content(path, request):
            return self.inner.request(method, path, request, *args)
        fitted = self._bridge.fit_with_session(request["contents"], **_besides(request))
        request = {**request, "contents": fitted.natives}
        return _learn(fitted, self.inner.request(method, path, request, *args))

    def request_streamed(self, method: str, path: str, request: Any, *args: Any) -> Iterator[Any]:
        """Yield the pieces of the answer to a request."""
        if not _asks_for_content(path, request):
            yield from self.inner.request_streamed(method, path, request, *args)
            return
        fitted = self._bridge.fit_with_session(request["contents"], **_besides(request))
        request, piece = {**request, "contents": fitted.natives}, None
        for piece in self.inner.request_streamed(method, path, request, *args):
            yield piece
        _learn(fitted, piece)

    async def async_request(self, method: str, path: str, request: Any, *args: Any) -> Any:
        """Return the answer to a request."""
        if not _asks_for_content(path, request):
            return await self.inner.async_request(method, path, request, *args)
        fitted = await self._bridge.afit_with_session(request["contents"], **_besides(request))
        request = {**request, "contents": fitted.natives}
        return _learn(fitted, await self.inner.async_request(method, path, request, *args))

    async def async_request_streamed(self, method: str, path: str, request: Any, *args: Any) -> Any:
        """Return an iterator over the pieces of the answer to a request."""
        if not _asks_for_content(path, request):
            return await self.inner.async_request_streamed(method, path, request, *args)
        fitted = await self._bridge.afit_with_session(request["contents"], **_besides(request))
        request = {**request, "contents": fitted.natives}
        pieces = await self.inner.async_request_streamed(method, path, request, *args)
        return _learned(fitted, pieces)


async def _learned(fitted: Fitted[Message], pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
    piece = None
    async for piece in pieces:
        yield piece
    _learn(fitted, piece)


def _asks_for_content(path: str, request: Any) -> bool:
    return path.partition("?")[0].endswith(_PATHS) and isinstance(request.get("contents"), list)


def _besides(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tools, reserve and system instruction of a request."""
    instruction = request.get("systemInstruction") or {}
    texts = (part.get("text") or "" for part in instruction.get("parts") or ())
    return {
        "tools": request.get("tools") or (),
        "reserve": (request.get("generationConfig") or {}).get("maxOutputTokens") or 0,
        "system": "\n".join(texts) or None,
    }


def _learn(fitted: Fitted[Message], answer: Any) -> Any:
    """Learn from the usage in an answer, or in the last piece of one, and return the answer."""
    try:
        told = json.loads(getattr(answer, "body", None) or "null")
    except ValueError:  # the SDK reports this error
        return answer
    if isinstance(told, dict) and "usageMetadata" in told:
        fitted.learn(told)
    return answer
