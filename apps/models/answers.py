"""Sources of chat answers: a model behind a URL, streamed, or a built-in script."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

from polycontext.base import InvalidOptionError, require_extra
from polycontext.cost import Meter
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.journal import SPENT, Spent
from polycontext.window import ToolCall

from .endings import check_finished

_MOST_REPLY = 4096
"""The maximum length of an answer, in tokens."""
_MOST_LOOKUPS = 8
"""How often a model may look up turns before it has to answer."""


class Answering(Protocol):
    """A source of answers: `answer` yields the text of a reply to a session's view in pieces.

    A source may also have ``settle(session)``, which is awaited once its answer is stored, and
    ``spent(session)``, which returns and resets the `Spent` of its model calls. It may raise
    `UnfinishedError` after the last piece.
    """

    def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the answer, piece by piece."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


async def settle(answering: Answering, session: ContextSession) -> None:
    """Let a source do what it does once its whole answer is stored."""
    own = getattr(answering, "settle", None)
    if own is not None:
        await own(session)


def metadata_of(answering: Answering, session: ContextSession) -> dict[str, Any]:
    """Return the metadata of an answer: what its model calls used, if the source knows."""
    own = getattr(answering, "spent", None)
    spent = Spent() if own is None else own(session)
    return {SPENT: spent.to_data()} if spent.calls else {}


class ScriptedAnswering:
    """A script that reports how much was said, for use without a model or a key."""

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield a short reply about the last message."""
        messages = session.messages("openai")
        said = str(messages[-1]["content"]).split()
        counted = "1 word" if len(said) == 1 else f"{len(said)} words, the last of them"
        words = (
            f"You said {counted} “{said[-1] if said else ''}”. Messages sent: {len(messages)}. "
            "(No model is behind this: start it with --model NAME.)"
        )
        for word in words.split(" "):
            yield f"{word} "

    async def aclose(self) -> None:
        """Do nothing: there is no connection to close."""


class _ModelAnswering(ABC):
    """A model that may look up turns of the conversation once some have left its view."""

    provider: ClassVar[str]
    no_call: ClassVar[Any]
    """The tool choice that forbids calls."""

    def __init__(self, name: str, client: Any) -> None:
        self._name, self._client = name, client
        self._meters = WeakKeyDictionary[ContextSession, Meter]()

    def spent(self, session: ContextSession) -> Spent:
        """Return what the model calls since the last time used, as reported."""
        meter = self._meters.pop(session, None)
        if meter is None:
            return Spent()
        cost, tokens = meter.cost, meter.cost.tokens
        return Spent(
            calls=cost.requests,
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cost_usd=cost.money or 0.0,
            cached_tokens=tokens.read,
        )

    def _report(self, session: ContextSession, usage: object) -> None:
        session.usage.reported(usage)
        self._meters.setdefault(session, Meter(session)).add(usage, model=self._name)

    async def answer(self, session: ContextSession) -> AsyncGenerator[str]:
        """Yield the text of a streamed answer."""
        tools = await self._offered(session)
        try:
            for left in reversed(range(_MOST_LOOKUPS + 1)):
                calls = list[ToolCall]()
                more = {"tools": tools} if tools else {}
                more |= {} if left or not tools else {"tool_choice": self.no_call}
                async with aclosing(self._ask(session, more, calls)) as pieces:
                    async for piece in pieces:
                        yield piece
                if not calls:
                    return
                await session.aadd_assistant_turn(None, calls)
                for call in calls:
                    found = await session.acall_tool(call.name, call.arguments)
                    await session.aadd_tool_turn(found, tool_call_id=call.id)
        finally:
            if session.open_calls:
                await session.aclose_open_calls("the answer was not completed")

    async def _offered(self, session: ContextSession) -> list[dict[str, Any]]:
        """Return the tools, if a summary stands in the view and they fit beside it."""
        if not any(turn.sources for turn in session.window.all_turns()):
            return []
        tools = session.tools(self.provider)
        try:
            await session.aview(tools=tools)
        except ContextOverflowError:
            return []
        return tools

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.close()

    @abstractmethod
    def _ask(
        self, session: ContextSession, more: dict[str, Any], calls: list[ToolCall]
    ) -> AsyncGenerator[str]:
        """Yield the text of one streamed response, and add the calls in it to `calls`."""


class OpenAIAnswering(_ModelAnswering):
    """A model behind an endpoint that speaks OpenAI's Chat Completions.

    The SDK takes the key from the environment.
    """

    provider, no_call = "openai", "none"

    def __init__(self, url: str | None, name: str) -> None:
        require_extra("openai", extra="openai", purpose="a model with OpenAI's API")
        from openai import AsyncOpenAI  # noqa: PLC0415 - an extra

        # A self-hosted server needs no key, but the SDK requires one.
        key = os.environ.get("OPENAI_API_KEY") or (None if url is None else "none")
        # Without silent retries: the user sees at once why there is no answer, and when to retry.
        super().__init__(name, AsyncOpenAI(base_url=url, api_key=key, max_retries=0))

    async def _ask(
        self, session: ContextSession, more: dict[str, Any], calls: list[ToolCall]
    ) -> AsyncGenerator[str]:
        messages: Any = session.messages("openai")
        parts: dict[int, list[str]] = {}
        reason, refused = None, False
        async with await self._client.chat.completions.create(
            model=self._name,
            messages=messages,
            stream=True,
            max_completion_tokens=_MOST_REPLY,
            stream_options={"include_usage": True},
            **more,
        ) as stream:
            async for chunk in stream:
                delta = chunk.choices[0].delta if chunk.choices else None
                reason = chunk.choices[0].finish_reason if chunk.choices else reason
                if delta is not None and (text := delta.content or delta.refusal):
                    yield text
                refused = refused or bool(delta is not None and delta.refusal)
                for part in (delta and delta.tool_calls) or ():
                    held = parts.setdefault(part.index, ["", "", ""])
                    function: Any = part.function
                    held[0] += part.id or ""
                    held[1] += function.name or ""
                    held[2] += function.arguments or ""
                if chunk.usage:
                    self._report(session, chunk.usage)
        check_finished("refusal" if refused else reason)
        calls += (ToolCall(*held) for held in parts.values())


class AnthropicAnswering(_ModelAnswering):
    """A model behind an endpoint that speaks Anthropic's Messages.

    The SDK takes the key from the environment.
    """

    provider: ClassVar[str] = "anthropic"
    no_call: ClassVar[Any] = {"type": "none"}

    def __init__(self, url: str | None, name: str) -> None:
        require_extra(
            "anthropic",
            extra="anthropic",
            purpose="a model with Anthropic's API",
        )
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - an extra

        super().__init__(name, AsyncAnthropic(base_url=url, max_retries=0))

    async def _ask(
        self, session: ContextSession, more: dict[str, Any], calls: list[ToolCall]
    ) -> AsyncGenerator[str]:
        request: Any = session.request("anthropic")
        async with self._client.messages.stream(
            model=self._name,
            max_tokens=_MOST_REPLY,
            messages=request.messages,
            system=list(request.system),
            **more,
        ) as stream:
            async for text in stream.text_stream:
                yield text
            message = await stream.get_final_message()
            self._report(session, message.usage)
        check_finished(message.stop_reason)
        calls += (
            ToolCall(part.id, part.name, json.dumps(part.input))
            for part in message.content
            if part.type == "tool_use"
        )


async def in_whole_characters(pieces: AsyncIterator[str]) -> AsyncGenerator[str]:
    """Yield the pieces without splitting a character between two of them.

    Surrogate halves that two pieces separate are joined; a single half is replaced.
    """
    held = ""
    async for piece in pieces:
        held += piece
        end = len(held) - ("\ud800" <= held[-1:] <= "\udbff")
        # Yield an empty piece too, so that the consumer can run other tasks between pieces.
        yield _repair(held[:end])
        held = held[end:]
    yield _repair(held)


def _repair(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def make_answering(url: str | None, name: str | None) -> Answering:
    """Return the source of answers for a URL and a model name; the built-in script without both.

    A URL that contains ``anthropic`` or a model called ``claude…`` is asked through Anthropic's
    Messages, any other through OpenAI's Chat Completions.

    Raises:
        InvalidOptionError: the URL is invalid, or is given without the name of a model.
        MissingExtraError: the vendor's SDK is not installed.
    """
    if url is None and name is None:
        return ScriptedAnswering()
    if url is not None and not url.startswith(("http://", "https://")):
        raise InvalidOptionError(
            "base_url", url, "the address of a model, beginning with http:// or https://"
        )
    if name is None:
        raise InvalidOptionError("model", name, "the name of the model at that address")
    if name.startswith("claude") or "anthropic" in (url or ""):
        return AnthropicAnswering(url, name)
    return OpenAIAnswering(url, name)
