"""Run an agent of Haystack in a window of 2,000 tokens.

Its run returns every message, and its model is sent what fits.

Prints::

    exchanges: 60
    the run returns: 120 messages
    the model was asked at most: 45 messages
    what was demanded at first is in all requests: True
"""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack.components.agents import Agent
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage

from polycontext.adapters.haystack import ContextHook

EXCHANGES = 60
DEMAND = "Never open a jar."


def main() -> None:
    """Hold a long conversation and print the size of the requests."""
    requests: list[list[ChatMessage]] = []

    def reply(messages: list[ChatMessage]) -> str:
        requests.append(messages)
        return f"Answer {len(requests)}: " + "plums and pears, " * 10

    model = MockChatGenerator(
        response_fn=reply, meta={"usage": {}}
    )  # or OpenAIChatGenerator(); this one reports words as tokens
    agent = Agent(chat_generator=model, hooks={"before_llm": [ContextHook(2000)]})

    messages = [ChatMessage.from_user(f"What is on the shelves? {DEMAND}")]
    for shelf in range(1, EXCHANGES):
        messages = agent.run(messages)["messages"]
        messages.append(ChatMessage.from_user(f"And on shelf {shelf}? " + "Look closely. " * 5))
    messages = agent.run(messages)["messages"]

    print("exchanges:", len(requests))
    print("the run returns:", len(messages), "messages")
    print("the model was asked at most:", max(map(len, requests)), "messages")
    print(
        "what was demanded at first is in all requests:",
        all(DEMAND in str(request) for request in requests),
    )


if __name__ == "__main__":
    main()
