"""The providers' own counting endpoints, through their SDKs, against strict providers over HTTP."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import anthropic
import openai
import pytest

from polycontext import ContextSession
from polycontext.base import InvalidOptionError
from polycontext.models.token_counters import AnthropicTokens, OpenAITokens
from polycontext.testing import FAST
from polycontext.testing.strict import StrictServer
from polycontext.window import PluginError, TiktokenCounter
from tests.vendors import StrictAnthropic, StrictChat, StrictResponses

TEXTS = (
    "hello",
    "How are you today?",
    "def f(x):\n    return x + 1\n",
    "早上好",
    "   \n ",
    " ",
    "<|endoftext|>",
    "x" * 5_000,
)
VOCABULARY = TiktokenCounter("o200k_base")


def scripted(_: object) -> str:
    """Answer anything."""
    return "Yes."


@pytest.fixture
def counters() -> Iterator[tuple[AnthropicTokens, OpenAITokens]]:
    """Yield a counter of each provider."""
    with (
        StrictServer((StrictAnthropic(scripted), StrictResponses(scripted))) as server,
        anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0) as one,
        openai.OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0) as two,
    ):
        yield AnthropicTokens(one, "claude-sonnet-5"), OpenAITokens(two, "gpt-5.6")


def test_a_text_counts_what_the_provider_counts_without_the_frame(
    counters: tuple[AnthropicTokens, OpenAITokens],
) -> None:
    """A text counts as many tokens as in the provider's vocabulary; white space to within one."""
    for counter in counters:
        assert counter.exact
        assert counter.count("") == 0
        for text in TEXTS:
            assert abs(counter.count(text) - VOCABULARY.count(text)) <= (
                0 if text.strip() else 1
            ), text


def test_each_text_is_asked_for_once_and_few_are_remembered() -> None:
    """Counts are cached by digest, for the newest texts; short texts can be counted locally."""
    asked: list[Any] = []

    def count_tokens(**fields: Any) -> Any:
        asked.append(fields["messages"][0]["content"])
        return SimpleNamespace(input_tokens=7 + len(asked[-1]))

    client = SimpleNamespace(messages=SimpleNamespace(count_tokens=count_tokens))
    counter = AnthropicTokens(client, "m", most_known=2)
    assert [counter.count("abc") for _ in range(5)] == [3 + 7 - 7] * 5
    assert sorted(asked) == [".", "abc"]
    for text in ("abcd", "abcde", "abc"):
        counter.count(text)
    assert asked.count("abc") == 2
    assert asked.count(".") == 1
    short = AnthropicTokens(client, "m", local=FAST, from_characters=10)
    asked.clear()
    assert short.count("abc") == FAST.count("abc")
    assert asked == []
    mistakes: list[dict[str, Any]] = [
        {"most_known": 0},
        {"from_characters": -1},
        {"from_characters": True},
    ]
    for wrong in mistakes:
        with pytest.raises(InvalidOptionError):
            AnthropicTokens(client, "m", **wrong)


def test_an_endpoint_that_fails_is_an_error_of_its_own() -> None:
    """A failing endpoint raises a typed error with the SDK's message."""
    with (
        StrictServer((StrictChat(scripted),)) as server,
        anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0) as one,
        openai.OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0) as two,
    ):
        for counter in (AnthropicTokens(one, "claude-sonnet-5"), OpenAITokens(two, "gpt-5.6")):
            with pytest.raises(PluginError, match="NotFoundError") as raised:
                counter.count("hello")
            assert raised.value.__cause__ is not None
            with pytest.raises(InvalidOptionError, match="NotFoundError"):
                ContextSession(max_tokens=1_000, counter=counter)

    wrong: Any = SimpleNamespace(count_tokens=lambda **_: SimpleNamespace(input_tokens=None))
    with pytest.raises(PluginError, match="it answered None"):
        AnthropicTokens(SimpleNamespace(messages=wrong), "m").count("hello")


def test_a_session_counts_by_an_endpoint(counters: tuple[AnthropicTokens, OpenAITokens]) -> None:
    """Its turns, and its whole request, from which the room is learned before anything was sent."""
    for counter, provider in zip(counters, ("anthropic", "openai-responses"), strict=True):
        session = ContextSession(max_tokens=8_000, counter=counter, provider=provider)
        session.add_system("Be brief.")
        session.add_user_turn("Is it raining in Vienna today? " * 20)
        session.add_assistant_turn("No.")
        session.add_user_turn("And tomorrow?")
        tools = session.tools()
        tokens = counter.count_request(session.request(), tools=tools)
        assert tokens > counter.count_request(session.request()) > 140
        measured = session.usage.reported({"input_tokens": tokens}, model=counter.model)
        assert measured is not None
        assert measured.besides > 100
        assert session.window.max_tokens < 8_000
