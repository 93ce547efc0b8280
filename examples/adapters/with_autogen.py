"""Run an agent of AutoGen in a conversation that outgrows its model's window.

Prints::

    asked 60 times: 119 messages before the last answer, ... of them were sent with it
    what the user demanded first was sent: True
    the agent still has 120
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage

from polycontext.adapters.autogen import ContextChatCompletionContext


class Parrot(ChatCompletionClient):
    """A scripted model that works offline and records what it is sent."""

    model_info = ModelInfo(
        vision=False,
        function_calling=False,
        json_output=False,
        structured_output=False,
        family="unknown",
    )
    capabilities = model_info
    sent: Sequence[Any] = ()

    async def create(self, messages: Sequence[Any], **besides: Any) -> CreateResult:
        """Return a fixed answer."""
        self.sent = messages[1:]  # without the agent's own system message
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        return CreateResult(
            finish_reason="stop", content="Plums, as before. " * 5, usage=usage, cached=False
        )

    create_stream = close = actual_usage = total_usage = count_tokens = remaining_tokens = create


async def main() -> None:
    """Ask about sixty shelves."""
    model, context = Parrot(), ContextChatCompletionContext(2000)
    agent = AssistantAgent("keeper", model, model_context=context)  # the only change
    await agent.run(task="What is on the shelves? Never open a jar.")
    for shelf in range(1, 60):
        await agent.run(task=f"And on shelf {shelf}? " + "Look closely. " * 10)
    kept = (await context.save_state())["messages"]
    print(
        f"asked 60 times: {len(kept) - 1} messages before the last answer, {len(model.sent)} of "
        "them were sent with it"
    )
    print("what the user demanded first was sent:", "Never open a jar." in str(model.sent))
    print("the agent still has", len(kept))


if __name__ == "__main__":
    asyncio.run(main())
