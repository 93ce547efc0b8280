"""Run an agent of Microsoft's agent-framework in a conversation that outgrows its window.

The session keeps every message.

Prints::

    80 messages in the session, at most 71 in a request
    the last request begins: user: 0: what is on this shelf? Never open a jar.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    FunctionInvocationLayer,
    Message,
)

from polycontext.adapters.agent_framework import ContextMiddleware

requests: list[Sequence[Message]] = []


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A scripted model that records the requests it gets."""

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> ChatResponse:
        requests.append(messages)
        sent = sum(len(message.text) for message in messages) // 4
        usage = {"input_token_count": sent, "output_token_count": 7, "total_token_count": sent + 7}
        return ChatResponse(
            messages=[Message("assistant", ["Plums, and behind them pears."])], usage_details=usage
        )


agent = Agent(
    client=ScriptedClient(),
    instructions="You keep a cellar.",
    middleware=[ContextMiddleware(2000)],  # the only change; a model name works too
)


async def main() -> None:
    """Ask forty times in one session."""
    session = AgentSession()
    for shelf in range(40):
        await agent.run(
            f"{shelf}: what is on this shelf? "
            + ("Look closely. " * 12 if shelf else "Never open a jar."),
            session=session,
        )
    kept = session.state["in_memory"]["messages"]
    print(f"{len(kept)} messages in the session, at most {max(map(len, requests))} in a request")
    first = requests[-1][0]
    print(f"the last request begins: {first.role}: {first.text}")


asyncio.run(main())
