"""A kitchen assistant of four nodes: understand, think, act and reply. It runs offline.

Prints::

A quick soup for Monday? Tomato soup is planned for Monday. [Plan a soup]
Rather another one? Miso soup or tomato soup? [Plan a soup; which soup?]
after a rewind: ['Plan a soup']
"""

from json import dumps

from polycontext import ContextSession
from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.testing import ScriptedModel


def plan(recipe: str, day: str, *, idempotency_key: str) -> dict[str, str]:
    """Plan a recipe for a day; the key is its id, so it is planned once."""
    return {"id": idempotency_key, "name": f"{recipe} on {day}"}


understood = {"intent": "plan a meal", "confidence": 0.9}
step = {"type": "write", "subdomain": "plans", "description": "Plan a soup"}
answers: list[object] = [
    understood,
    {"decision": "plan_direct", "goal": "Plan a soup", "steps": [step]},
    {"calls": [{"tool": "plan", "arguments": {"recipe": "tomato soup", "day": "Monday"}}]},
    {"outcome": "planned tomato soup for Monday", "entities": ["plan_1"]},
    "Tomato soup is planned for Monday.",
    understood,
    {"decision": "clarify", "goal": "which soup?", "questions": ["Miso or tomato?"]},
    "Miso soup or tomato soup?",
]
model = ScriptedModel([each if isinstance(each, str) else dumps(each) for each in answers])
session = ContextSession(max_tokens=4000, machine=AgentMachine)
agent = Agent(session, model, [Tool("plan", plan, entities="plans", report="create")])
for said in ("A quick soup for Monday?", "Rather another one?"):
    print(said, agent.send(said), f"[{'; '.join(agent.memory.conversation.engagement.goals)}]")
session.history.rewind(session.log()[3].resource_id)  # the end of the first exchange
print("after a rewind:", [*agent.memory.conversation.engagement.goals])
