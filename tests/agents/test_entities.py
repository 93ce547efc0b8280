"""The entities of an agent: what its tools report of them, from a draft to a deleted row."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from polycontext.agents import Agent, AgentMachine, Tool, ToolError
from polycontext.nodes import SessionIdRegistry
from polycontext.nodes.entities.records import EntityVerb, UnknownRefError
from polycontext.polynomial import ContextSession
from polycontext.testing import ScriptedModel
from tests.agents.kitchen import DONE, PLANNED, UNDERSTOOD, use

SOUP = "r1-81b7d3c4"


class Recipes:
    """A small database of recipes, with a tool for each verb."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {SOUP: {"name": "Tomato soup", "minutes": 20}}
        self.tools = [
            Tool(verb, getattr(self, verb), entities="recipes", report=verb) for verb in EntityVerb
        ]

    def read(self, **_: str) -> list[dict[str, Any]]:
        """Return all recipes."""
        return [{"id": id, **row} for id, row in self.rows.items()]

    def link(self, **_: str) -> list[dict[str, Any]]:
        """Return the ids of all recipes."""
        return [{"id": id} for id in self.rows]

    def create(self, name: str, **_: str) -> dict[str, Any]:
        """Create a recipe."""
        return self._stored({"name": name})

    def update(self, id: str, minutes: int, **_: str) -> dict[str, Any]:
        """Change how long a recipe takes."""
        if id not in self.rows:
            raise ToolError("there is no such recipe")
        self.rows[id] |= {"minutes": minutes}
        return {"id": id, **self.rows[id]}

    def delete(self, id: str, **_: str) -> None:
        """Delete a recipe."""
        if id not in self.rows:
            raise ToolError("there is no such recipe")
        del self.rows[id]

    def generate(self, name: str, minutes: int, **_: str) -> dict[str, Any]:
        """Draft a recipe."""
        return {"name": name, "minutes": minutes, "base": SOUP}

    def save(self, recipe: dict[str, Any], **_: str) -> dict[str, Any]:
        """Save a draft."""
        return {"id": self._stored(recipe)["id"]}

    def _stored(self, row: Mapping[str, Any]) -> dict[str, Any]:
        id = f"r{len(self.rows) + 1}-55aa11bb"
        self.rows[id] = dict(row)
        return {"id": id, **row}


def agent_with(recipes: Recipes, *calls: tuple[str, Mapping[str, Any]], **last: Any) -> Agent:
    """Return an agent that has made these calls in one step."""
    session = ContextSession(max_tokens=6000, machine=AgentMachine)
    done = json.dumps({"outcome": "done", **last})
    script = [UNDERSTOOD, PLANNED, *(use(each) for each in calls), done, DONE, "Done."]
    agent = Agent(session, ScriptedModel(script), recipes.tools)
    agent.send("Go on.")
    return agent


def registry_of(agent: Agent) -> SessionIdRegistry:
    """Return the registry that the agent remembers."""
    return agent.memory.conversation.id_registry


def prompts_of(agent: Agent, node: str) -> list[str]:
    """Return the prompts of a node."""
    requests = agent.model.requests  # type: ignore[attr-defined]
    return [request.prompt for request in requests if request.node == node]


@pytest.mark.parametrize(
    ("verb", "given", "status"),
    [
        ("read", {}, "read"),
        ("link", {}, "linked"),
        ("create", {"name": "Stew"}, "created"),
        ("generate", {"name": "Stew", "minutes": 5}, "generated"),
    ],
)
def test_a_tool_makes_an_entity_known(verb: str, given: Mapping[str, Any], status: str) -> None:
    """The status is that of the verb."""
    registry = registry_of(agent_with(Recipes(), (verb, given)))
    assert [registry.get(ref).status for ref in registry] == [status]


def test_a_tool_reports_an_update() -> None:
    """The entity keeps its ref, with the row as it is now."""
    agent = agent_with(
        Recipes(), ("read", {}), ("update", {"id": "recipe_1", "minutes": 5}), entities=["recipe_1"]
    )
    soup = registry_of(agent).get("recipe_1")
    assert (soup.status, soup.label) == ("updated", "Tomato soup")
    assert soup.data is not None
    assert soup.data["minutes"] == 5
    assert '"status":"updated"' in prompts_of(agent, "act")[-1]


def test_a_deleted_entity_is_deleted_in_the_registry() -> None:
    """A tombstone stays, no node takes it for a recipe, and the step itself may name it."""
    recipes = Recipes()
    agent = agent_with(recipes, ("read", {}), ("delete", {"id": "recipe_1"}), entities=["recipe_1"])
    registry = registry_of(agent)
    assert (recipes.rows, [*registry]) == ({}, [])
    assert [(each.ref, each.status) for each in registry.tombstones] == [("recipe_1", "deleted")]
    assert "Tomato soup" not in prompts_of(agent, "act")[-1].partition("## Conversation")[0]
    with pytest.raises(UnknownRefError, match="was removed in turn 1"):
        registry.id_of("recipe_1")


def test_a_draft_is_generated_until_it_is_saved() -> None:
    """Act and Reply see it, it has no id, and the tool that saves it gets its content."""
    recipes = Recipes()
    draft = ("generate", {"name": "Cold soup", "minutes": 5})
    agent = agent_with(recipes, draft)
    context = registry_of(agent).context(1)
    assert [(each.ref, each.label) for each in context.generated] == [("gen_recipe_1", "Cold soup")]
    assert '{"name": "Cold soup", "minutes": 5, "base": "r1-81b7d3c4", "id": "gen_recipe_1"}' in [
        turn.text for turn in agent.session.log() if turn.role == "tool"
    ]
    assert '"minutes":5' in prompts_of(agent, "act")[-1]
    assert 'Generated, not saved\n- "Cold soup"' in prompts_of(agent, "reply")[0]

    agent = agent_with(recipes, ("read", {}), draft, ("save", {"recipe": "gen_recipe_1"}))
    saved = recipes.rows["r2-55aa11bb"]
    assert saved == {"name": "Cold soup", "minutes": 5, "base": SOUP}
    registry = registry_of(agent)
    assert registry.context(1).generated == ()
    soup = registry.get("gen_recipe_1")
    assert (soup.ref, soup.status, soup.label) == ("recipe_2", "created", "Cold soup")
    assert soup.data is not None
    assert soup.data["minutes"] == 5
    assert registry.id_of("recipe_2") == "r2-55aa11bb"


@pytest.mark.parametrize("ref", ["recipe_1", "gen_recipe_9", {"name": "Stew"}])
def test_a_tool_that_saves_takes_the_ref_of_a_draft(ref: Any) -> None:
    """Its schema says so, and the model is told what is wrong with anything else."""
    recipes = Recipes()
    assert recipes.tools[-1].parameters["properties"]["recipe"] == {"type": "string"}
    draft = ("generate", {"name": "Stew", "minutes": 5})
    calls = [("read", {}), draft, ("save", {"recipe": ref}), ("save", {"recipe": "gen_recipe_1"})]
    agent = agent_with(recipes, *calls)
    assert [*registry_of(agent)] == ["recipe_1", "recipe_2"]
    assert "Your last answer was refused: " in prompts_of(agent, "act")[3]


def test_a_row_of_an_id_and_a_name_leaves_what_is_known() -> None:
    """A list of names does not replace the row that was read."""
    recipes = Recipes()
    recipes.tools.append(
        Tool("names", lambda **_: [{"id": SOUP, "name": "Soup"}], entities="recipes")
    )
    soup = registry_of(agent_with(recipes, ("read", {}), ("names", {}))).get("recipe_1")
    assert soup.label == "Soup"
    assert soup.data is not None
    assert soup.data["minutes"] == 20
