"""Run an agent of Semantic Kernel in a conversation that outgrows its model's window.

Prints::

    asked 60 times: 119 messages before the last answer, ... of them were sent with it
    what the user demanded first was sent: True
    the thread still has 120
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.contents import AuthorRole, ChatHistory, ChatMessageContent

from polycontext.adapters.semantic_kernel import wrap


class Parrot(ChatCompletionClientBase):
    """A scripted model that works offline and records what it is sent."""

    sent: list[Sequence[Any]]

    async def _inner_get_chat_message_contents(
        self, chat_history: ChatHistory, settings: Any
    ) -> list[ChatMessageContent]:
        self.sent.append(chat_history.messages[1:])  # without the agent's own instructions
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, content="Plums, as before. " * 5)]


async def main() -> None:
    """Ask about sixty shelves."""
    parrot, thread = Parrot(ai_model_id="parrot", sent=[]), ChatHistoryAgentThread()
    agent = ChatCompletionAgent(
        service=wrap(parrot, 2000), name="Keeper", instructions="You keep a cellar."
    )  # the only change
    await agent.get_response("What is on the shelves? Never open a jar.", thread=thread)
    for shelf in range(1, 60):
        await agent.get_response(f"And on shelf {shelf}? " + "Look closely. " * 10, thread=thread)
    sent = parrot.sent[-1]
    print(
        f"asked 60 times: {len(thread) - 1} messages before the last answer, {len(sent)} of them "
        "were sent with it"
    )
    print(
        "what the user demanded first was sent:",
        any("Never open a jar." in str(message) for message in sent),
    )
    print("the thread still has", len(thread))


if __name__ == "__main__":
    asyncio.run(main())
