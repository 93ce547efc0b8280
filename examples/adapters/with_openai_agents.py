"""Run an agent of openai-agents in a window of 2,000 tokens.

Its session keeps every item, and its model is sent what fits.

Prints::

    the session has 160 items, the last request had ...
    the largest request had ...
    the first demand stands in every request: True
"""

import asyncio

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from polycontext.adapters.openai_agents import ContextFilter

DEMAND = "Never open a jar."


@function_tool
def look(shelf: int) -> str:
    """Look at a shelf."""
    return f"shelf {shelf}: " + "plums, pears, " * 15


async def main() -> None:
    """Ask about forty shelves, one after the other."""
    steps = [
        ModelStep(
            [function_call("look", {"shelf": shelf}, call_id=f"call_{shelf}")]
            if asks
            else [assistant_message(f"Shelf {shelf} is full.")]
        )
        for shelf in range(40)
        for asks in (True, False)
    ]
    model = ScriptedModel(steps)
    agent = Agent("Cellar", instructions="You keep a cellar.", model=model, tools=[look])
    session = SQLiteSession("my cellar")
    fitting = ContextFilter(2000)  # or a model name: ContextFilter("gpt-5")
    for shelf in range(40):
        text = f"What is on shelf {shelf}? " + (DEMAND if shelf == 0 else "")
        await Runner.run(
            agent, text, session=session, run_config=RunConfig(call_model_input_filter=fitting)
        )

    requests = [call.input for call in model.calls]
    print(
        f"the session has {len(await session.get_items())} items, the last request had "
        f"{len(requests[-1])}"
    )
    print(f"the largest request had {max(map(len, requests))}")
    print(
        "the first demand stands in every request:",
        all(DEMAND in str(request) for request in requests),
    )


set_tracing_disabled(disabled=True)
asyncio.run(main())
