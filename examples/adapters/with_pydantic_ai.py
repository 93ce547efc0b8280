"""Run an agent of pydantic-ai in a window of 2,000 tokens.

Its run returns every message, and its model is sent what fits.

Prints::

    160 messages are kept, the last request had ...
    the largest request had ...
    the first demand stands in every request: True
"""

import asyncio

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from polycontext.adapters.pydantic_ai import ContextCapability

DEMAND = "Never open a jar."
requests: list[list[ModelMessage]] = []


def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Look at each shelf before answering."""
    requests.append(messages)
    shelf, has_looked = divmod(len(requests) - 1, 2)
    return ModelResponse(
        [
            TextPart(f"Shelf {shelf} is full.")
            if has_looked
            else ToolCallPart("look", {"shelf": shelf}, f"call_{shelf}")
        ]
    )


agent = Agent(
    FunctionModel(model), instructions="You keep a cellar.", capabilities=[ContextCapability(2000)]
)  # or ContextCapability("gpt-5")


@agent.tool_plain
def look(shelf: int) -> str:
    """Look at a shelf."""
    return f"shelf {shelf}: " + "plums, pears, " * 15


async def main() -> None:
    """Ask about forty shelves, one after the other."""
    kept: list[ModelMessage] = []
    for shelf in range(40):
        result = await agent.run(
            f"What is on shelf {shelf}? " + (DEMAND if shelf == 0 else ""),
            message_history=kept,
            conversation_id="cellar",
        )
        kept = result.all_messages()

    print(f"{len(kept)} messages are kept, the last request had {len(requests[-1])}")
    print(f"the largest request had {max(map(len, requests))}")
    print(
        "the first demand stands in every request:",
        all(DEMAND in str(request) for request in requests),
    )


asyncio.run(main())
