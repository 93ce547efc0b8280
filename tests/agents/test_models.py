"""Models behind the SDKs of vendors, over HTTP, with providers that refuse what vendors refuse."""

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import anthropic
import openai
import pytest

from polycontext.adapters import anthropic as anthropic_adapter
from polycontext.adapters import openai as openai_adapter
from polycontext.agents import Agent, model_of
from polycontext.agents.models import ANTHROPIC, CHAT
from polycontext.agents.requests import ModelRequest
from polycontext.base import InvalidOptionError
from polycontext.polynomial.journal import spent_in
from polycontext.testing.strict import StrictServer
from tests.agents.kitchen import RandomModel, begun, tools
from tests.agents.vendors import MODELS, Wire, client_of, strict_of


class Replies(Wire):
    """Answers as a random model would, in the form that was asked for."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)  # noqa: S311 - a test's
        self.model, self.forms = RandomModel(draw), list[Mapping[str, Any] | None]()

    def answer(self, node: str, prompt: str, schema: Mapping[str, Any] | None) -> str:
        """Return the model's answer, and keep the schema."""
        self.forms.append(schema)
        return self.model.complete(ModelRequest(node, prompt, schema))


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_conversations_over_http(provider: str, *, is_async: bool) -> None:
    """Every request is taken, each node's form goes out, and the reply is streamed."""
    replies = Replies(7)
    with StrictServer((strict_of(provider, replies),)) as server:
        client = client_of(provider, server.url, is_async=is_async)
        model = model_of(client, MODELS[provider], provider=provider)
        agent = Agent(begun(), model, tools()[:1])

        async def talk() -> None:
            assert (await agent.asend("Look for code-1, please.")).startswith("Here is")
            said = [piece async for piece in agent.stream("And for code-2.")]
            assert "".join(said).startswith("Here is")
            await asyncio.to_thread(client.close) if not is_async else await client.close()

        if is_async:
            with pytest.raises(InvalidOptionError, match="asend"):
                agent.send("Look for code-0, please.")
        else:
            assert agent.send("Look for code-0, please.").startswith("Here is")
        asyncio.run(talk())
    spent, usage = agent.session.usage.spent, agent.memory.shared.llm.usage
    assert spent.calls == len(replies.forms)
    assert spent.input_tokens > spent.output_tokens > 0
    assert usage is not None
    assert usage.total_tokens == spent.input_tokens + spent.output_tokens
    streamed = [spent_in(event) for event in agent.session.history.events()][-2]
    assert streamed is not None
    assert (streamed.agent, streamed.calls) == ("reply", 1)
    assert streamed.input_tokens > streamed.output_tokens > 0
    assert sum(form is None for form in replies.forms) == 2 + (not is_async)
    assert all(form["additionalProperties"] is False for form in replies.forms if form)


def test_another_client_is_refused() -> None:
    """The message names what is taken."""
    with pytest.raises(InvalidOptionError, match="anthropic"):
        model_of(object(), "gpt-5")
    with pytest.raises(InvalidOptionError, match="openai-responses"):
        model_of(object(), "gpt-5", provider="azure")


def test_a_wrapped_client_is_one_of_its_sdk() -> None:
    """So is an instance of a class that derives from an SDK's."""

    class Mine(openai.OpenAI):
        pass

    with Mine(api_key="none") as gpt, anthropic.Anthropic(api_key="none") as claude:
        assert model_of(openai_adapter.wrap(gpt, 2_000), "gpt-5").api is CHAT
        assert model_of(anthropic_adapter.wrap(claude, 2_000), "claude").api is ANTHROPIC
        assert model_of(gpt, "gpt-5").api is CHAT
