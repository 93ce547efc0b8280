"""An agent with a persona: the context owns the prompt, and the browser gets props.

Prints::

    soul: You say freedom and you mean quiet. What would a quiet week look like?
    soul: Then start with one morning.
    ready, pressure 0.03
    user: I want to quit and travel. Or do I?
    assistant: You say freedom and you mean quiet. What would a quiet week look like?
    user: No calendar, one book.
    assistant: Then start with one morning.
    goals: hear them out; find a first step
"""

import asyncio
import json
from typing import Any

from attrs import define, field, frozen

from polycontext import ContextSession
from polycontext.agents import Agent, AgentMachine, Model
from polycontext.testing import ScriptedModel


@frozen
class KgentSoul:
    """A speaker: persona coordinates from 0 to 1, and constraints that always hold."""

    eigenvectors: dict[str, float]
    constraints: tuple[str, ...] = ()


@frozen
class SoulDialogueOutput:
    """A reply, and the props that a browser may see."""

    response: str
    component_props: dict[str, Any]


@define
class SoulSession:
    """A conversation of one soul across requests: an agent whose Reply has the soul's persona."""

    soul: KgentSoul
    context: ContextSession
    model: Model
    agent: Agent = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.agent = Agent(self.context, self.model, persona=self.soul.eigenvectors)
        if not self.context.log():
            self.context.add_system("\n".join(self.soul.constraints))

    async def dialogue(self, message: str) -> SoulDialogueOutput:
        """Add the user's message, let the nodes answer, and return what may be shown."""
        response = await self.agent.asend(message)
        return SoulDialogueOutput(response, self.context.render())


def exchange(intent: str, goal: str, reply: str) -> list[str]:
    """Return the answers of Understand, Think and Reply."""
    understood = {"intent": intent, "confidence": 0.8}
    planned = {"decision": "plan_direct", "goal": goal}
    return [json.dumps(understood), json.dumps(planned), reply]


async def main() -> None:
    """Exchange two messages, and check that nothing of the prompt reaches the browser."""
    soul = KgentSoul({"aesthetic": 0.8, "gratitude": 0.5, "joy": 0.2}, ("Give no medical advice.",))
    quiet = "You say freedom and you mean quiet. What would a quiet week look like?"
    model = ScriptedModel(
        [
            *exchange("decide about a journey", "hear them out", quiet),
            *exchange("picture a quiet week", "find a first step", "Then start with one morning."),
        ]
    )
    session = SoulSession(soul, ContextSession(max_tokens=2000, machine=AgentMachine), model)
    for message in ("I want to quit and travel. Or do I?", "No calendar, one book."):
        output = await session.dialogue(message)
        print("soul:", output.response)

    props = output.component_props
    print(f"{props['status']}, pressure {props['pressure']:.2f}")
    for shown in props["messages"]:
        print(f"{shown['role']}: {shown['content']}")
    print("goals:", "; ".join(session.agent.memory.conversation.engagement.goals))

    sent, seen = str(model.requests[-1]), json.dumps(props)
    for told in ("Give no medical advice.", "No calendar, one book.", "spare and the well made"):
        assert told in sent, told
    for private in ("medical", "spare and the well made", "eigenvector", "find a first step"):
        assert private not in seen, private


if __name__ == "__main__":
    asyncio.run(main())
