"""Run an agent of strands-agents in a conversation that outgrows its window.

The agent keeps every message.

Prints::

    80 messages of the agent, at most 65 in a request
    the last request begins: user: 0: what is on this shelf? Never open a jar.
"""

from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.models import Model

from polycontext.adapters.strands import ContextConversationManager

requests: list[Any] = []


class ScriptedModel(Model):
    """A scripted model that records the requests it gets."""

    def update_config(self, **model_config: Any) -> None:
        """Ignore the configuration."""

    def get_config(self) -> dict[str, Any]:
        """Return an empty configuration."""
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Raise `NotImplementedError`: structured output is not supported."""
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the events of a fixed answer."""
        requests.append(messages)
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "Plums, and behind them pears."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


manager = ContextConversationManager(2000)  # or a model name
agent = Agent(
    ScriptedModel(),
    system_prompt="You keep a cellar.",
    conversation_manager=manager,
    callback_handler=None,
)  # the only change
for shelf in range(40):
    agent(
        f"{shelf}: what is on this shelf? "
        + ("Look closely. " * 12 if shelf else "Never open a jar.")
    )

print(
    f"{len(agent.messages)} messages of the agent, at most {max(map(len, requests))} in a request"
)
first = requests[-1][0]
print(f"the last request begins: {first['role']}: {first['content'][0]['text']}")
