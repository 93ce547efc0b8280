"""A kitchen assistant of four nodes: understand, think, act and reply.

The model follows a script, so the example runs offline. Prints::

    user: Plan a quick soup for Monday.
    assistant: Tomato soup is planned for Monday.
    user: Rather another one?
    assistant: Miso soup or tomato soup?
    remembered: Plan a quick soup; which soup?
    after a rewind: Plan a quick soup
"""

import json

from polycontext import ContextSession
from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.testing import ScriptedModel

PLANS: dict[str, dict[str, str]] = {}


def find(words: str, **_: str) -> list[dict[str, str]]:
    """Find recipes by their names."""
    rows = [
        {"id": "81b7d3c4-55", "name": "Tomato soup"},
        {"id": "55aa11bb-20", "name": "Miso soup"},
    ]
    return [row for row in rows if words in row["name"]]


def plan(recipe: str, day: str, *, idempotency_key: str) -> dict[str, str]:
    """Plan a recipe for a day, once for each key."""
    return PLANS.setdefault(idempotency_key, {"id": f"{recipe}/{day}", "name": day})


def step(kind: str, subdomain: str, description: str) -> dict[str, str]:
    """Return a step of a plan."""
    return {"type": kind, "subdomain": subdomain, "description": description}


SOUP, UNDERSTOOD = "Plan a quick soup", {"intent": "plan a meal", "confidence": 0.9}
STEPS = [step("read", "recipes", "Find soups"), step("write", "plans", "Plan one")]
ANSWERS = [
    UNDERSTOOD,
    {"decision": "plan_direct", "goal": SOUP, "steps": STEPS},
    {"calls": [{"tool": "find", "arguments": {"words": "soup"}}]},
    {"outcome": "found two soups", "entities": ["recipe_1", "recipe_2"]},
    {"calls": [{"tool": "plan", "arguments": {"recipe": "recipe_1", "day": "Monday"}}]},
    {"outcome": "planned recipe_1 for Monday"},
    "Tomato soup is planned for Monday.",
    UNDERSTOOD,
    {"decision": "clarify", "goal": "which soup?", "questions": ["Miso or tomato?"]},
    "Miso soup or tomato soup?",
]


def main() -> None:
    """Take two exchanges, and go back to the end of the first."""
    model = ScriptedModel([each if isinstance(each, str) else json.dumps(each) for each in ANSWERS])
    tools = [Tool("find", find, entities="recipes"), Tool("plan", plan)]
    session = ContextSession(max_tokens=4000, machine=AgentMachine)
    agent, ends = Agent(session, model, tools), []
    for said in ("Plan a quick soup for Monday.", "Rather another one?"):
        print(f"user: {said}\nassistant: {agent.send(said)}")
        ends.append(session.history.revision)
    print("remembered:", "; ".join(agent.memory.conversation.engagement.goals))
    session.history.rewind(ends[0])
    print("after a rewind:", "; ".join(agent.memory.conversation.engagement.goals))


if __name__ == "__main__":
    main()
