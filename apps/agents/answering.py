"""An agent as a source of answers for the server and the chat."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from polycontext.polynomial import ContextSession

from .agent import Agent
from .machine import AgentMachine


class AgentAnswering:
    """The agent of each session, made by `make` when it is to answer.

    Its steps are stored as they are taken, and its reply is streamed. If the answer is cancelled or
    fails, open calls are closed with a marked result, so that the user can go on. A whole reply is
    summarized once it is stored, if the agent summarizes.
    """

    def __init__(self, make: Callable[[ContextSession], Agent]) -> None:
        self.machine: type[AgentMachine] = getattr(make, "machine", AgentMachine)
        """The machine that the sessions need: that of `make`, if it has one."""
        self._make = make

    async def answer(self, session: ContextSession) -> AsyncGenerator[str]:
        """Take the steps before the reply, and yield the reply."""
        try:
            async with aclosing(self._make(session).pieces()) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            if session.open_calls:
                await session.aclose_open_calls("the answer was not completed")

    async def settle(self, session: ContextSession) -> None:
        """Summarize the reply that is stored, if the agent does."""
        await self._make(session).asummarize()

    async def aclose(self) -> None:
        """Do nothing: the model's client is the caller's."""
