"""A builder in a workshop that takes over a conversation and builds its prompts from it.

Prints::

    without a context: Draw the stairs.
    carpentry: Stairs: 15 steps of 18 cm, oak, a landing after the eighth.
    in the prompt: persona, specialty, conversation, task
    in the props: conversation
"""

import json
from enum import Enum

from attrs import define

from polycontext.polynomial import ContextSession
from polycontext.testing import ScriptedModel

SETTLED = "The hall is 2.70 m high, and the stairs must be oak."


class Specialty(Enum):
    """The trade of a builder; the value is its name in the prompt."""

    CARPENTRY = "carpentry"


@define
class Builder:
    """A builder that works on tasks, with a conversation if it has one."""

    specialty: Specialty
    eigenvectors: dict[str, float]
    context: ContextSession | None = None

    def set_context(self, session: ContextSession) -> None:
        """Use the conversation that the workshop provides."""
        self.context = session

    def build_prompt(self, task: str) -> str:
        """Return the prompt for `task`; without a conversation it is the task alone."""
        if self.context is None:
            return task
        return self.context.build_prompt(
            agent_type="builder",
            specialty=self.specialty.value,
            eigenvectors=self.eigenvectors,
            task=task,
        )


def main() -> None:
    """Let a carpenter draw stairs, and print which parts reached the prompt and the props."""
    builder = Builder(Specialty.CARPENTRY, {"patience": 0.9, "craft": 0.7})
    print("without a context:", builder.build_prompt("Draw the stairs."))

    session = ContextSession(max_tokens=2000)
    session.add_user_turn(SETTLED)
    builder.set_context(session)
    prompt = builder.build_prompt("Draw the stairs.")
    model = ScriptedModel(
        rules={
            r"specialty is carpentry(.|\n)*2\.70 m": (
                "Stairs: 15 steps of 18 cm, oak, a landing after the eighth."
            )
        }
    )
    session.add_assistant_turn(model.complete(prompt))

    props = session.render()
    print(f"{builder.specialty.value}: {props['messages'][-1]['content']}")
    parts = {
        "persona": "Your craft is high",
        "specialty": "Your specialty is",
        "conversation": SETTLED,
        "task": "Draw the stairs.",
    }
    print("in the prompt:", ", ".join(part for part, text in parts.items() if text in prompt))
    print(
        "in the props:",
        ", ".join(part for part, text in parts.items() if text in json.dumps(props)),
    )
    assert not any(
        text in json.dumps(props) for part, text in parts.items() if part != "conversation"
    )


if __name__ == "__main__":
    main()
