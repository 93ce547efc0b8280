"""An agent with a persona: the context owns the prompt, and the browser gets props.

Prints::

    soul: You say freedom and you mean quiet. What would a quiet week look like?
    soul: Then start with one morning.
    ready, pressure 0.03
    user: I want to quit and travel. Or do I?
    assistant: You say freedom and you mean quiet. What would a quiet week look like?
    user: No calendar, one book.
    assistant: Then start with one morning.
"""

import asyncio
import json
from typing import Any

from attrs import define, frozen

from polycontext.polynomial import ContextSession
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
    """A conversation of one soul across requests; the session holds its context."""

    soul: KgentSoul
    context: ContextSession
    model: ScriptedModel

    async def dialogue(self, message: str) -> SoulDialogueOutput:
        """Add the user's message, let the model reply, and return what may be shown."""
        await self.context.aadd_user_turn(message)
        prompt = self.context.build_prompt("kgent", self.soul.eigenvectors, self.soul.constraints)
        response: str = await self.model.acomplete(prompt)
        await self.context.aadd_assistant_turn(response)
        return SoulDialogueOutput(response, self.context.render())


async def main() -> None:
    """Exchange two messages, and check that nothing of the prompt reaches the browser."""
    soul = KgentSoul({"aesthetic": 0.8, "gratitude": 0.5, "joy": 0.2}, ("Give no medical advice.",))
    model = ScriptedModel(
        [
            "You say freedom and you mean quiet. What would a quiet week look like?",
            "Then start with one morning.",
        ]
    )
    session = SoulSession(soul, ContextSession(max_tokens=2000), model)
    for message in ("I want to quit and travel. Or do I?", "No calendar, one book."):
        output = await session.dialogue(message)
        print("soul:", output.response)

    props = output.component_props
    print(f"{props['status']}, pressure {props['pressure']:.2f}")
    for shown in props["messages"]:
        print(f"{shown['role']}: {shown['content']}")

    sent, seen = model.requests[-1], json.dumps(props)
    assert "Give no medical advice." in sent
    assert "No calendar, one book." in sent
    for private in ("K-gent", "medical", "aesthetic", "spare and the well made", "eigenvector"):
        assert private not in seen, private


if __name__ == "__main__":
    asyncio.run(main())
