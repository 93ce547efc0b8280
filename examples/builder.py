"""A builder in a workshop: an agent that takes over a conversation, with a trade and a persona.

Prints::

    without a context: Draw the stairs.
    carpentry: Stairs: 15 steps of 18 cm, oak, a landing after the eighth.
    in the prompt: persona, specialty, conversation, task
    in the props: conversation, task
    remembered: draw stairs of oak
"""

import json
from enum import Enum

from attrs import define

from polycontext import ContextSession
from polycontext.agents import Agent, AgentMachine, Model
from polycontext.testing import ScriptedModel

SETTLED = "The hall is 2.70 m high, and the stairs must be oak."
DRAWN = "Stairs: 15 steps of 18 cm, oak, a landing after the eighth."


class Specialty(Enum):
    """The trade of a builder; the value is its name in the prompt."""

    CARPENTRY = "carpentry"


@define
class Builder:
    """A builder that works on tasks, with a conversation if it has one."""

    specialty: Specialty
    eigenvectors: dict[str, float]
    model: Model
    agent: Agent | None = None

    def set_context(self, session: ContextSession) -> None:
        """Work in the conversation that the workshop provides."""
        session.add_system(f"Your specialty is {self.specialty.value}.")
        self.agent = Agent(session, self.model, persona=self.eigenvectors)

    def work(self, task: str) -> str:
        """Return what becomes of `task`; without a conversation it is the task itself."""
        return task if self.agent is None else self.agent.send(task)


def main() -> None:
    """Let a carpenter draw stairs, and print which parts reached the prompt and the props."""
    answers = (
        {"intent": "draw", "confidence": 0.9},
        {"decision": "plan_direct", "goal": "draw stairs of oak"},
    )
    model = ScriptedModel([*map(json.dumps, answers), DRAWN])
    builder = Builder(Specialty.CARPENTRY, {"patience": 0.9, "craft": 0.7}, model)
    print("without a context:", builder.work("Draw the stairs."))

    session = ContextSession(max_tokens=2000, machine=AgentMachine)
    session.add_user_turn(SETTLED)
    builder.set_context(session)
    print(f"{builder.specialty.value}: {builder.work('Draw the stairs.')}")

    prompt, props = str(model.requests[-1]), json.dumps(session.render())
    parts = {
        "persona": "Your craft is high",
        "specialty": "Your specialty is",
        "conversation": SETTLED,
        "task": "Draw the stairs.",
    }
    for name, shown in {"prompt": prompt, "props": props}.items():
        print(f"in the {name}:", ", ".join(part for part, text in parts.items() if text in shown))
    assert builder.agent is not None
    print("remembered:", "; ".join(builder.agent.memory.conversation.engagement.goals))


if __name__ == "__main__":
    main()
