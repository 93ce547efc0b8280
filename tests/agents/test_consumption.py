"""Who consumes what, in the prompts of an agent that has lived: every cell, in both directions.

A row names words that occur in one part of a layer and nowhere else. A node that must get the part
has all of them in its prompt, a node that must not get it has none.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.polynomial import ContextSession
from polycontext.testing import ScriptedModel
from tests.agents.kitchen import use

NODES = ("understand", "think", "act", "reply")


def _rows(*names: str) -> Any:
    rows = [{"id": f"SECRET-{name}", "name": f"{name}-LABEL", "note": name} for name in names]
    return lambda **_: rows


def _drop(id: str, **_: str) -> None:
    assert id == "SECRET-REMOVED"


TOOLS = [
    Tool("old", _rows("RETAINED", "FORGOTTEN", "REMOVED"), entities="recipes"),
    Tool("new", _rows("ACTIVE"), entities="recipes"),
    Tool("seen", _rows("LINKED"), entities="guests", report="link"),
    Tool("draft", _rows("GENERATED"), entities="plans", report="generate"),
    Tool("drop", _drop, entities="recipes", report="delete"),
]


def understood(name: str, **more: Any) -> dict[str, Any]:
    """Return what Understand answers in an exchange."""
    phase = "narrowing" if name == "NOW" else "exploring"
    told = {"phase": phase, "user_expressed": f"EXPRESSED-{name}"}
    return {"intent": "i", "confidence": 1, **told, **more}


def planned(name: str, *steps: str) -> dict[str, Any]:
    """Return what Think answers in an exchange."""
    wanted = [
        {"type": "read", "subdomain": f"DOMAIN-{step}", "description": f"DESCRIBED-{step}"}
        for step in steps
    ]
    return {"decision": "plan_direct", "goal": f"GOAL-{name}", "steps": wanted}


def done(name: str, *refs: str) -> dict[str, Any]:
    """Return what Act answers at the end of a step."""
    told = {"outcome": f"OUTCOME-{name}", "note_for_next_step": f"NOTE-{name}"}
    return {**told, "entities": list(refs)}


def script() -> Iterator[Any]:
    """Yield the answers of nine exchanges."""
    yield from (understood("1"), planned("1", "1"), use(("old", {})), done("1"), "ANSWERED-1")
    kept = [{"ref": "recipe_1", "reason": "RETAINED-REASON"}]
    for number in range(2, 7):
        more = {"retained": kept} if number == 2 else {}
        yield from (understood(f"{number}", **more), planned(f"{number}"), f"ANSWERED-{number}")
    calls = use(("new", {}), ("seen", {}), ("draft", {}), ("drop", {"id": "recipe_3"}))
    yield from (understood("7", demoted=["recipe_2"]), planned("7", "7"), calls)
    yield from (done("7", "recipe_3"), "ANSWERED-7")
    asks = {"decision": "clarify", "goal": "PENDING-8", "questions": ["QUESTION-8"]}
    yield from (understood("8"), asks, "ANSWERED-8")
    yield from (understood("NOW"), planned("NOW", "NOW", "NEXT"))
    yield from (use(("seen", {})), done("NOW"), done("NEXT"), "ANSWERED-NOW")


def lived() -> dict[str, str]:
    """Return the last prompt of each node; Act's is that of its second step."""
    answers = [each if isinstance(each, str) else json.dumps(each) for each in script()]
    session = ContextSession(max_tokens=8000, machine=AgentMachine)
    agent = Agent(session, model := ScriptedModel(answers), TOOLS)
    for name in (*range(1, 9), "NOW"):
        agent.send(f"SAID-{name} please")
    return {request.node: request.prompt for request in model.requests}


LAYERS = json.loads(Path(__file__).with_name("consumption.json").read_text(encoding="utf-8"))
"""By part of a layer: its words, and an x for each of understand, think, act and reply that must
have them."""
CELLS: dict[str, tuple[list[str], str]] = {
    part: cell for layer in LAYERS.values() for part, cell in layer.items()
}
TEXTS = lived()


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("part", CELLS)
def test_a_node_of_an_agent_gets_what_it_consumes(part: str, node: str) -> None:
    """It has every part that the tables give to it, and nothing else."""
    words, row = CELLS[part]
    found = [word for word in words if word in TEXTS[node]]
    assert found == (words if row[NODES.index(node)] == "x" else []), TEXTS[node]
