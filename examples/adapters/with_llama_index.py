"""Run a chat engine of llama-index with a wrapped LLM.

Its memory keeps the whole conversation, and its LLM is sent what fits.

Prints::

    exchanges: 60
    the memory keeps: 120 messages
    the LLM was asked at most: 41 messages
    what was demanded at first is in all requests: True
"""

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM

from polycontext.adapters.llama_index import ContextMemory, wrap

EXCHANGES = 60
DEMAND = "Never open a jar."


def main() -> None:
    """Hold a long conversation and print the size of the requests."""
    requests: list[Sequence[ChatMessage]] = []

    def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        requests.append(messages)
        return ChatMessage(
            role="assistant", content=f"Answer {len(requests)}: " + "plums and pears, " * 10
        )

    llm = MockFunctionCallingLLM(
        response_generator=reply
    )  # or OpenAI("gpt-5") of llama-index-llms-openai
    memory = ContextMemory.from_defaults()
    engine = SimpleChatEngine.from_defaults(llm=wrap(llm, 2000), memory=memory)

    engine.chat(f"What is on the shelves? {DEMAND}")
    for shelf in range(1, EXCHANGES):
        engine.chat(f"And on shelf {shelf}? " + "Look closely. " * 5)

    print("exchanges:", len(requests))
    print("the memory keeps:", len(memory.get_all()), "messages")
    print("the LLM was asked at most:", max(map(len, requests)), "messages")
    print(
        "what was demanded at first is in all requests:",
        all(DEMAND in str(request) for request in requests),
    )


if __name__ == "__main__":
    main()
