"""What agents read: a long message, a large result and a long answer are read about once."""

import json
from typing import Any

import pytest

from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.linearity.classification import constraints
from polycontext.nodes.entities import records
from polycontext.polynomial import ContextSession
from polycontext.pressure.notes import candidates
from polycontext.testing import ScriptedModel
from tests.agents.kitchen import DONE, UNDERSTOOD, plan, use

LONG = 40_000


def _counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """Return the list that the arguments of each call are added to."""
    calls, known = list[Any](), getattr(owner, name)

    def counting(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return known(*given, **named)

    monkeypatch.setattr(owner, name, counting)
    return calls


def _agent(*, result: Any = None, entities: str = "") -> Agent:
    """Return an agent that calls its tool if there is a result, and answers twice."""

    def find(**_: str) -> Any:
        """Find all."""
        return result

    called = [use(("find", {}))] if result is not None else []
    script = [UNDERSTOOD, plan(), *called, DONE, "Done."]
    session = ContextSession(max_tokens=1_000_000, machine=AgentMachine)
    return Agent(session, ScriptedModel(script * 2), [Tool("find", find, entities=entities)])


@pytest.mark.parametrize(
    "line",
    [
        "{}. Chop the carrots, and put them into the pot with {} leeks.\n",
        "setting_{}: value number {} of the list\n",
        "Paragraph {} is about {} carrots. It goes on like this for some time.\n\n",
    ],
)
def test_a_long_message_is_read_once_for_all_nodes(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules are looked for in it once, and it becomes notes once, also in the next exchange."""
    text = "".join(line.format(number, number) for number in range(LONG // len(line)))
    judged = _counted(monkeypatch, constraints, "_read")
    parsed = _counted(monkeypatch, candidates, "read_events")
    agent = _agent()
    agent.send(text)
    agent.send("And then?")
    assert len(judged) <= 3 * text.count("\n")
    assert sum(len(turn.text) for (turns, *_) in parsed for turn in turns) <= 2 * len(text)


def test_the_rows_of_a_result_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of entities are copied a few times, however many rows there are."""
    rows = [{"id": f"id-{number}-81b7", "name": f"Soup {number}"} for number in range(400)]
    agent = _agent(result=rows, entities="recipes")
    tables = _counted(monkeypatch, records.Records, "__init__")
    agent.send("All soups, please.")
    assert len(agent.memory.conversation.id_registry) == len(rows)
    assert len(tables) < 20


def test_no_more_rows_become_entities_than_a_node_can_read() -> None:
    """The others stay in the result, whose refs mean the same as ever."""
    rows = [{"id": f"id-{number}-81b7", "name": f"Soup {number}"} for number in range(3_000)]
    agent = _agent(result=rows, entities="recipes")
    agent.send("All soups, please.")
    registry = agent.memory.conversation.id_registry
    assert len(registry) == 500
    assert registry.id_of("recipe_500") == "id-499-81b7"
    result = json.loads(next(turn.text for turn in agent.session.log() if turn.name == "find"))
    assert [row["name"] for row in result] == [row["name"] for row in rows]
    assert [result[499]["id"], result[500]["id"]] == ["recipe_500", "id-500-81b7"]
