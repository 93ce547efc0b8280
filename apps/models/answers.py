"""Who answers in a chat: a model behind a URL, streamed, or a script where there is none."""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from polycontext.linearity import InvalidOptionError, require_extra
from polycontext.polynomial import ContextSession

_MOST_REPLY = 4096
"""Tokens of an answer at most."""


class Answering(Protocol):
    """Stand for whoever answers: `answer` yields the pieces of what is said to a session's view."""

    def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the answer, piece by piece."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...


class ScriptedAnswering:
    """Say how much was said, so that something is there to be seen without a model or a key."""

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield a few words about what was said last."""
        messages = session.messages("openai")
        said = str(messages[-1]["content"]).split()
        words = f"You said {len(said)} words, the last of them “{said[-1] if said else ''}”. I was sent {len(messages)} messages. (No model is behind this: start it with --model NAME.)"
        for word in words.split(" "):
            yield f"{word} "

    async def aclose(self) -> None:
        """Let go of nothing."""


class OpenAIAnswering:
    """Ask an endpoint that speaks OpenAI's chat completions.

    The key is that of the environment, as the SDK has it.
    """

    def __init__(self, url: str | None, name: str) -> None:
        require_extra("openai", extra="openai", purpose="a model with OpenAI's API")
        from openai import AsyncOpenAI  # noqa: PLC0415 - an extra

        # Servers of one's own want no key, and the SDK wants one.
        key = os.environ.get("OPENAI_API_KEY") or (None if url is None else "none")
        self._client, self._name = AsyncOpenAI(base_url=url, api_key=key), name

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the words of a stream."""
        messages: Any = session.messages("openai")
        async with await self._client.chat.completions.create(
            model=self._name,
            messages=messages,
            stream=True,
            max_completion_tokens=_MOST_REPLY,
            stream_options={"include_usage": True},
        ) as stream:
            async for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    yield chunk.choices[0].delta.content
                if chunk.usage:
                    session.usage.reported(chunk.usage)

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.close()


class AnthropicAnswering:
    """Ask an endpoint that speaks Anthropic's messages.

    The key is that of the environment, as the SDK has it.
    """

    def __init__(self, url: str | None, name: str) -> None:
        require_extra(
            "anthropic",
            extra="anthropic",
            purpose="a model with Anthropic's API",
        )
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - an extra

        self._client, self._name = AsyncAnthropic(base_url=url), name

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the words of a stream."""
        request: Any = session.request("anthropic")
        async with self._client.messages.stream(
            model=self._name,
            max_tokens=_MOST_REPLY,
            messages=request.messages,
            system=list(request.system),
        ) as stream:
            async for text in stream.text_stream:
                yield text
            session.usage.reported((await stream.get_final_message()).usage)

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.close()


async def in_whole_characters(pieces: AsyncIterator[str]) -> AsyncGenerator[str]:
    """Yield pieces none of which ends within a character: halves that were parted between two are joined, and a half alone is replaced."""
    held = ""
    async for piece in pieces:
        held += piece
        end = len(held) - ("\ud800" <= held[-1:] <= "\udbff")
        # Also where nothing is left: whoever listens may let others live between two pieces.
        yield _repair(held[:end])
        held = held[end:]
    yield _repair(held)


def _repair(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def make_answering(url: str | None, name: str | None) -> Answering:
    """Return who answers: of a URL that holds ``anthropic``, or a model called ``claude…``, what speaks Anthropic's messages, of others OpenAI's chat.

    Raises:
        InvalidOptionError: a URL that is none, or one without the name of a model.
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
