"""Wrapper that fits the requests of Google's genai client into a window (docs/adapters.md)."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, TypeVar, cast

from attrs import evolve

from polycontext.base import InvalidOptionError, require_extra, with_usage
from polycontext.base.effects import Effect, Steps, adrive, call, drive, procedure, twin

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

    @procedure
    def request(self, method: str, path: str, request: Any, *args: Any) -> Steps[Any]:
        """Return the answer to a request."""
        fitted, sent = yield from self._fit(path, request)
        ask, aask = (
            partial(each, method, path, sent, *args)
            for each in (self.inner.request, self.inner.async_request)
        )
        return _learn(fitted, (yield Effect(ask, aask)))

    async_request = twin(request)

    def request_streamed(self, method: str, path: str, request: Any, *args: Any) -> Iterator[Any]:
        """Yield the pieces of the answer to a request."""
        fitted, sent = drive(self._fit(path, request))
        piece = None
        for piece in self.inner.request_streamed(method, path, sent, *args):
            yield piece
        _learn(fitted, piece)

    async def async_request_streamed(self, method: str, path: str, request: Any, *args: Any) -> Any:
        """Return an iterator over the pieces of the answer to a request."""
        fitted, sent = await adrive(self._fit(path, request))
        pieces = await self.inner.async_request_streamed(method, path, sent, *args)
        return pieces if fitted is None else _learned(fitted, pieces)

    def _fit(self, path: str, request: Any) -> Steps[tuple[Fitted[Message] | None, Any]]:
        if not _asks_for_content(path, request):
            return None, request
        contents, besides = request["contents"], _besides(request)
        fitted = yield call(self._bridge, "fit_with_session", contents, **besides)
        return fitted, {**request, "contents": fitted.natives}


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


def _learn(fitted: Fitted[Message] | None, answer: Any) -> Any:
    """Learn from the usage in an answer, or in the last piece of one, and return the answer."""
    if fitted is None:
        return answer
    try:
        told = json.loads(getattr(answer, "body", None) or "null")
    except ValueError:  # the SDK reports this error
        return answer
    if isinstance(told, dict) and "usageMetadata" in told:
        fitted.learn(told)
    return answer
