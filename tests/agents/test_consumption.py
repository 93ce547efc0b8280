"""Who consumes what, in the prompts of an agent that has lived: every cell, in both directions.

A row names words that occur in one part of a layer and nowhere else. A node that must get the part
has all of them in its prompt, a node that must not get it has none.
"""

import json
from collections.abc import Iterator
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


# part of a layer: its words, and for understand, think, act, reply whether they must be there
CELLS: dict[str, tuple[list[str], str]] = {
    # layer 1
    "active: full data": (['"ref":"recipe_4"', '"note":"ACTIVE"'], "x.x."),
    "active: refs and labels": (['recipe_4: "ACTIVE-LABEL"'], ".x.."),
    "active: labels": (["ACTIVE-LABEL"], "xxxx"),
    "active: linked": (["LINKED-LABEL"], "xxxx"),
    "generated: full data": (['"ref":"gen_plan_1"', '"note":"GENERATED"'], "x.x."),
    "generated: refs and labels": (['gen_plan_1: "GENERATED-LABEL"'], ".x.."),
    "generated: labels": (["GENERATED-LABEL"], "xxxx"),
    "retained: full data": (["RETAINED-LABEL", "RETAINED-REASON", '"note":"RETAINED"'], "x..."),
    "retained: refs": (["recipe_1"], "xx.."),
    "deleted": (['"label":"REMOVED-LABEL","status":"deleted"'], "x..."),
    "deleted: refs": (["recipe_3"], "xx.."),
    "out of mind": (["FORGOTTEN-LABEL"], "...."),
    "database ids": (["SECRET"], "...."),
    # layer 2
    "recent: the exchange under way": (["SAID-NOW"], "xxxx"),
    "recent: the one before": (["SAID-8", "ANSWERED-8"], "xxxx"),
    "before the last two": (["SAID-7", "ANSWERED-6", "SAID-5"], "xx.."),
    "summary": (["user: SAID-2", "assistant: ANSWERED-3"], "xx.."),
    "engagement": (["Goals: GOAL-6; GOAL-7; PENDING-8"], "xx.x"),
    "pending": (["QUESTION-8"], "xx.x"),
    # layer 3
    "the last turn's decision": (["Decided: clarify: PENDING-8"], ".x.."),
    "the steps before in full": (["DESCRIBED-7", "NOTE-7", "DOMAIN-7"], ".x.."),
    "earlier reasoning": (["OUTCOME-1"], ".x.."),
    "outcomes of the turn before": (["OUTCOME-7"], ".x.."),
    "own decisions": (["Turn 2: retained recipe_1 (RETAINED-REASON)"], "x..."),
    "curation": (["Curation: demoted recipe_2"], ".x.."),
    "phase, and what the user expressed": (
        ["Phase: narrowing", "User expressed: EXPRESSED-NOW"],
        ".x.x",
    ),
    "this turn's steps, with notes": (["DESCRIBED-NOW", "NOTE-NOW"], "..x."),
    # what each node must be told besides
    "what needs no reading": (["DO NOT re-read: recipe_4, gen_plan_1, recipe_1"], ".x.."),
    "results of this turn's steps": (["Result of step 1: ["], "..x."),
    "note of the previous step": (["Note of the previous step: NOTE-NOW"], "..x."),
    "archive": (["turn_7_step_1"], "..x."),
    "just accomplished": (["Just accomplished: OUTCOME-NOW; OUTCOME-NEXT"], "...x"),
    # nobody's
    "facts of closed exchanges": (["Shared ", '"f1"'], "...."),
    "the machine's state": (["ACCUMULATING", "pressure"], "...."),
}
TEXTS = lived()


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("part", CELLS)
def test_a_node_of_an_agent_gets_what_it_consumes(part: str, node: str) -> None:
    """It has every part that the tables give to it, and nothing else."""
    words, row = CELLS[part]
    found = [word for word in words if word in TEXTS[node]]
    assert found == (words if row[NODES.index(node)] == "x" else []), TEXTS[node]
