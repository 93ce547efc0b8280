"""Clients of Google's genai SDK."""

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from polycontext.base import InvalidOptionError
from polycontext.base.errors import is_installed
from polycontext.testing.strict import StrictServer
from tests.adapters.agent_step import FOUND, LOOK, Message, value_of
from tests.adapters.frameworks.conversation import Agent
from tests.adapters.frameworks.judge import Judge
from tests.adapters.frameworks.sdk import SdkTests

if not is_installed("google.genai"):
    pytest.skip("no google.genai", allow_module_level=True)

from google import genai

from polycontext.adapters.gemini import GeminiDialect, wrap
from polycontext.agents import model_of
from polycontext.agents.models import GEMINI
from tests.vendors import StrictGemini

OPTIONS: Mapping[str, Any] = {
    "system_instruction": "You keep a cellar.",
    "tools": [{"function_declarations": [LOOK]}],
    "max_output_tokens": 200,
    "automatic_function_calling": {"disable": True},
}
MODEL = "gemini-3-pro"


async def contents(client: Any, messages: list[Message]) -> list[Message]:
    """Ask once."""
    made = client.models.generate_content(model=MODEL, contents=_contents(messages), config=OPTIONS)
    return _turns([await value_of(made)])


async def contents_stream(client: Any, messages: list[Message]) -> list[Message]:
    """Ask for a stream."""
    pieces = client.models.generate_content_stream(
        model=MODEL, contents=_contents(messages), config=OPTIONS
    )
    return _turns([*pieces])


def _contents(messages: list[Message]) -> list[Message]:
    return [
        {"role": "user", "parts": [{"text": message["content"]}]}
        if "content" in message
        else message
        for message in messages
    ]


def _turns(pieces: list[Any]) -> list[Message]:
    parts = [
        part.model_dump(mode="json", by_alias=True, exclude_none=True)
        for piece in pieces
        for part in piece.candidates[0].content.parts
    ]
    results = [
        {"functionResponse": {"name": "look", "response": {"result": f"{call['args']}: {FOUND}"}}}
        for call in (part["functionCall"] for part in parts if "functionCall" in part)
    ]
    answers = [{"role": "user", "parts": results}] if results else []
    return [{"role": "model", "parts": parts}, *answers]


def _client(url: str) -> Any:
    return genai.Client(api_key="none", http_options={"base_url": url})


class TestGemini(SdkTests):
    """Test ``models.generate_content``."""

    distribution, label = "google-genai", "google-genai: models"
    provider, dialect, list_name = "gemini", GeminiDialect, "contents"
    overcounted = 1.2
    wrap, ask, streamed = (
        staticmethod(wrap),
        staticmethod(contents),
        staticmethod(contents_stream),
    )

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent whose list has contents, and the user's messages."""
        agent: Any = super().agent(judge, saved, **options)
        agent.listed = _contents
        return cast("Agent", agent)

    def client(self, url: str) -> Any:
        """Return a client."""
        return _client(url)


async def _chat(client: Any) -> str:
    chat, text = client.chats.create(model=MODEL), ""
    for number in range(60):
        text = chat.send_message(f"{number}: " + "plums, " * 40).text
    return text


async def _aio(client: Any) -> str:
    chat, text = client.aio.chats.create(model=MODEL), ""
    for number in range(60):
        text = (await chat.send_message(f"{number}: " + "plums, " * 40)).text
    counted = await client.aio.models.count_tokens(model=MODEL, contents="Which plums?")
    assert counted.total_tokens > 0
    await client.aio.aclose()
    return text


async def _aio_stream(client: Any) -> str:
    chat, text = client.aio.chats.create(model=MODEL), ""
    for number in range(60):
        pieces = await chat.send_message_stream(f"{number}: " + "plums, " * 40)
        text = "".join([piece.text async for piece in pieces])
    await client.aio.aclose()
    return text


@pytest.mark.gate
@pytest.mark.parametrize("talk", [_chat, _aio, _aio_stream])
def test_chats_stay_within_the_window(talk: Callable[[Any], Any]) -> None:
    """The SDK keeps the whole chat, and each request is a view of it; token counts pass through."""
    provider = StrictGemini(lambda request: f"{len(request['contents'])} contents", window=2_000)
    with StrictServer((provider,)) as server:
        client = wrap(wrap(_client(server.url), 500), 2_000)
        answer = asyncio.run(talk(client))
        counted = client.models.count_tokens(model=MODEL, contents="Which plums?")
    assert 1 < int(answer.split()[0]) < 60
    assert counted.total_tokens > 0


def test_another_client_is_refused() -> None:
    """The error says what is needed."""
    with pytest.raises(InvalidOptionError, match="google-genai"):
        wrap(object(), 2_000)


def test_a_conversation_is_told_by_its_contents() -> None:
    """Nothing else has a session."""
    client: Any = wrap(_client("http://127.0.0.1:1"), 2_000)
    for wrong in ("thread-7", None):
        with pytest.raises(InvalidOptionError, match=r"^messages = "):
            client.session(wrong)
    said = [{"role": "user", "parts": [{"text": "Hello."}]}]
    assert client.session(said) is client.session(said)
    assert model_of(client, MODEL).api is GEMINI


@pytest.mark.parametrize("body", ["<html>", "null", "{}"])
def test_an_answer_that_tells_nothing_is_left_to_the_sdk(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer of a proxy, which is no JSON or no usage, comes back as it is."""
    client = _client("http://127.0.0.1:9")
    answer = SimpleNamespace(body=body)
    monkeypatch.setattr(client._api_client, "request", lambda *_: answer)
    request = {"contents": [{"role": "user", "parts": [{"text": "Which plums?"}]}]}
    asking = wrap(client, 2_000)._api_client
    assert asking.request("post", f"{MODEL}:generateContent", request) is answer


def test_other_requests_are_passed_on_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamed or not."""
    client = _client("http://127.0.0.1:9")
    asked: list[Any] = []

    async def later(*given: Any) -> Any:
        asked.append(given)
        return asked

    def now(*given: Any) -> list[int]:
        asked.append(given)
        return [1]

    for name in ("request", "request_streamed"):
        monkeypatch.setattr(client._api_client, name, now)
        monkeypatch.setattr(client._api_client, f"async_{name}", later)
    asking, request = wrap(client, 2_000)._api_client, ("get", "files", {"contents": "all"})
    assert [*asking.request(*request)] == [*asking.request_streamed(*request)] == [1]
    for name in ("async_request", "async_request_streamed"):
        assert asyncio.run(getattr(asking, name)(*request)) is asked
    assert asked == [request] * 4
