"""Whatever becomes of the journal, the registry is what a fresh reading of the journal gives."""

import json
import random
from typing import Any

import pytest

from polycontext.agents import Agent, AgentMachine, Recollection
from polycontext.nodes import SessionIdRegistry
from polycontext.nodes.entities.records import EntityVerb
from polycontext.polynomial import ContextSession
from polycontext.testing import FAST, ScriptedModel
from polycontext.window import Role, ToolCall
from tests.agents.kitchen import PLANNED, UNDERSTOOD
from tests.agents.test_entities import Recipes

STEPS = 8


class History:
    """A random history of an agent whose tools report entities; its model is left out."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - a test's
        self.said = 0
        self.recipes = Recipes()
        session = ContextSession(max_tokens=6000, counter=FAST, machine=AgentMachine)
        self.agent = Agent(session, ScriptedModel([]), self.recipes.tools)
        self.differ = 0

    @property
    def session(self) -> ContextSession:
        """Return the session of the agent."""
        return self.agent.session

    @property
    def registry(self) -> SessionIdRegistry:
        """Return what the agent remembers, read on from where it was last read."""
        return self.agent.memory.conversation.id_registry

    def text(self) -> str:
        """Return a message that was not sent before."""
        self.said += 1
        return f"Message {self.said}, please."

    def step(self) -> None:
        """Do one thing, and count if the registry is not what a fresh fold gives."""
        acts = [self.exchange] * 4 + [self.rewind, self.edit, self.fork, self.forget, self.clear]
        self.rng.choice(acts if self.session.log() else acts[:1])()
        self.compare(self.session)

    def compare(self, session: ContextSession) -> None:
        """Count if the registry is not what the journal of a session says."""
        memory = Recollection(session).memory
        self.differ += memory.conversation.id_registry != self.registry

    def end(self) -> None:
        """Compare the registry with that of the exported journal, read elsewhere."""
        journal, counter = "".join(self.session.history.export()), self.session.window.counter
        self.compare(ContextSession.history.load(journal, counter=counter, machine=AgentMachine))

    def exchange(self) -> None:
        """Run an exchange with some calls, which the user may interrupt."""
        if self.session.open_calls:
            self.session.close_open_calls("the user went on")
        self.session.add_user_turn(self.text())
        self.session.send("understood", self.curated())
        self.session.send("planned", json.loads(PLANNED))
        for _ in range(self.rng.randrange(4)):
            calls = [self.call(number) for number in range(self.rng.randrange(1, 3))]
            self.session.add_assistant_turn(None, calls)
            while self.session.open_calls and self.rng.random() < 0.95:
                self.agent.step()
            if self.session.open_calls:
                return
        self.session.send("acted", {"outcome": "done", "entities": self.some(1)}, left=0)
        if self.rng.random() < 0.9:
            self.session.add_assistant_turn(self.text())

    def curated(self) -> dict[str, Any]:
        """Return what Understand answers."""
        retained = [{"ref": ref, "reason": "liked"} for ref in self.some(1)]
        saved = [ref for ref in self.some(1) if not ref.startswith("gen_")]
        return {**json.loads(UNDERSTOOD), "retained": retained, "demoted": saved}

    def some(self, most: int) -> list[str]:
        """Return some refs of entities."""
        refs = [*self.registry]
        return self.rng.sample(refs, min(self.rng.randrange(most + 1), len(refs)))

    def call(self, number: int) -> ToolCall:
        """Return a call of any tool, also with refs that name nothing or another kind of entity."""
        verb = self.rng.choice([*EntityVerb])
        refs = [*self.registry, *(stone.ref for stone in self.registry.tombstones), "recipe_99"]
        drafts = [ref for ref in refs if ref.startswith("gen_")] or refs
        ref, name = self.rng.choice(refs), f"Soup {self.said}"
        arguments: dict[EntityVerb, dict[str, Any]] = {
            EntityVerb.CREATE: {"name": name},
            EntityVerb.UPDATE: {"id": ref, "minutes": self.rng.randrange(60)},
            EntityVerb.DELETE: {"id": ref},
            EntityVerb.GENERATE: {"name": name, "minutes": 5},
            EntityVerb.SAVE: {"recipe": self.rng.choice(drafts)},
        }
        id = f"c{self.said}_{self.session.history.revision}_{number}"
        return ToolCall(id, verb, json.dumps(arguments.get(verb, {})))

    def rewind(self) -> None:
        """Go back to any revision: the registry is as it was then."""
        revision = self.rng.randrange(self.session.history.revision + 1)
        past = self.session.history.at(revision)
        self.session.history.rewind(revision)
        self.compare(past)

    def edit(self) -> None:
        """Change a message of the user."""
        asked = [turn for turn in self.session.log() if turn.role is Role.USER]
        if asked and not self.session.open_calls:
            self.session.history.edit(self.rng.choice(asked).resource_id, self.text())

    def fork(self) -> None:
        """Go on in a fork of any revision."""
        revision = self.rng.randrange(self.session.history.revision + 1)
        fork = self.session.history.fork(f"fork {self.rng.random()}", revision)
        self.agent = Agent(fork, self.agent.model, self.recipes.tools)

    def forget(self) -> None:
        """Forget any turn: no ref comes or goes."""
        refs = [*self.registry]
        self.session.history.forget(self.rng.choice(self.session.log()).resource_id)
        assert [*self.registry] == refs

    def clear(self) -> None:
        """Clear the view."""
        if self.session.state != "EMPTY" and not self.session.open_calls:
            self.session.clear()


def differing(seeds: range) -> tuple[int, set[str]]:
    """Return how many registries differed in histories, and the statuses of their entities."""
    differ, statuses = 0, set[str]()
    for seed in seeds:
        history = History(seed)
        for _ in range(STEPS):
            history.step()
            registry = history.registry
            statuses |= {registry.get(ref).status for ref in registry}
            statuses |= {stone.status for stone in registry.tombstones}
        history.end()
        differ += history.differ
    return differ, statuses


STATUSES = {"read", "created", "updated", "deleted", "generated", "linked"}


@pytest.mark.gate
def test_the_registry_is_what_the_journal_says() -> None:
    """After each rewind, edit, fork, forgetting and interruption."""
    assert differing(range(25)) == (0, STATUSES)


@pytest.mark.gate
@pytest.mark.parametrize("hundred", range(10))
def test_the_registry_is_what_the_journal_says_in_1000_histories(hundred: int) -> None:
    """The same, longer."""
    assert differing(range(100 * hundred, 100 * hundred + 100)) == (0, STATUSES)
