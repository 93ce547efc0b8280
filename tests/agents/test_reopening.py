"""An agent's session that is opened again stands where the live one stands."""

import pytest

from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.testing import ScriptedModel
from tests.agents.kitchen import DONE, UNDERSTOOD, plan, use


@pytest.mark.parametrize("words", [200, 20_000])
def test_a_reopened_session_has_the_state_of_the_live_one(words: int) -> None:
    """Also after a result that was truncated, which is a compression within the exchange."""

    def find(**_: str) -> str:
        """Find all."""
        return "soup " * words

    script = [UNDERSTOOD, plan(), use(("find", {})), DONE, "Done."]
    store = InMemoryStore()
    live = ContextSession(3_000, store=store, session_id="a", machine=AgentMachine)
    agent = Agent(live, ScriptedModel(script * 2), [Tool("find", find)])
    for text in ("Find a soup.", "And another one."):
        agent.send(text)
        again = ContextSession(3_000, store=store, session_id="a", machine=AgentMachine)
        assert (again.state, again.conversation) == (live.state, live.conversation)
