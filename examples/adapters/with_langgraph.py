"""Run an agent's four nodes as nodes of LangGraph, which routes by the machine's region of nodes.

Prints::

    understand -> THINKING
    think -> ACTING
    act -> ACTING
    act -> ACTING
    act -> REPLYING
    reply -> READY
    Tomato soup, in 20 minutes.
"""

import json
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from polycontext import ContextSession
from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.testing import ScriptedModel

STEP = {"type": "read", "subdomain": "recipes", "description": "Find soups"}
ANSWERS: list[Any] = [
    {"intent": "find a recipe", "confidence": 0.9},
    {"decision": "plan_direct", "goal": "Find a soup", "steps": [STEP]},
    {"calls": [{"tool": "find", "arguments": {}}]},
    {"outcome": "found one soup", "entities": ["recipe_1"]},
    "Tomato soup, in 20 minutes.",
]
NODES = {
    "UNDERSTANDING": "understand",
    "THINKING": "think",
    "ACTING": "act",
    "REPLYING": "reply",
}


class Exchange(TypedDict):
    """The state of the graph: the conversation itself is the session's."""

    said: str
    reply: str


def find(**_: str) -> list[dict[str, Any]]:
    """Find recipes."""
    return [{"id": "81b7d3c4-55", "name": "Tomato soup", "minutes": 20}]


def node(agent: Agent, name: str) -> Any:
    """Return a node of LangGraph that takes one step of the agent."""

    def run(_: Exchange) -> dict[str, str]:
        agent.step()
        print(f"{name} -> {agent.session.regions['node']}")
        return {"reply": agent.session.log()[-1].text}

    return run


def graph(agent: Agent) -> Any:
    """Return the agent's nodes as a graph."""

    def hear(exchange: Exchange) -> dict[str, str]:
        agent.session.add_user_turn(exchange["said"])
        return {}

    def where(_: Exchange) -> str:
        return NODES.get(agent.session.regions["node"], END)

    built = StateGraph(Exchange)
    built.add_node("hear", hear)
    built.add_edge(START, "hear")
    for name in NODES.values():
        built.add_node(name, node(agent, name))
    for name in ("hear", *NODES.values()):
        built.add_conditional_edges(name, where, [*NODES.values(), END])
    return built.compile()


model = ScriptedModel([each if isinstance(each, str) else json.dumps(each) for each in ANSWERS])
session = ContextSession(max_tokens=4000, machine=AgentMachine)
kitchen = graph(Agent(session, model, [Tool("find", find, entities="recipes")]))
print(kitchen.invoke({"said": "Find me a quick soup.", "reply": ""})["reply"])
