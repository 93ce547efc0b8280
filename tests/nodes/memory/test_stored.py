"""The memory of a conversation as JSON data: it comes back whole, or is refused with its path."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from polycontext.base import InvalidDataError
from polycontext.nodes import ConversationContext, SessionIdRegistry
from tests.nodes.builders.material import lived
from tests.nodes.memory.records import memories

LIVED = lived().conversation


def registry() -> SessionIdRegistry:
    """Return a registry with an entity of every kind: live, saved, removed and read again."""
    known, ref = SessionIdRegistry(ref_names={"octopi": "octopus"}).read("octopi", 7, turn=1)
    known, _ = known.delete(ref, turn=2).read("octopi", 7, turn=3, data={"arms": [8, 1.5, None]})
    known, idea = known.generate("recipes", "Soup", turn=2, data={"base": "octopus_1"})
    known, _ = known.generate("recipes", "Stew", turn=2)
    known, saved = known.save(idea, "id-1", turn=3)
    return known.retain(saved, "good").demote("octopus_2")


@given(memories())
def test_a_memory_comes_back_from_its_data(memory: ConversationContext) -> None:
    """Law: what is written as JSON and read again is equal."""
    text = json.dumps(memory.to_data())
    assert ConversationContext.from_data(json.loads(text)) == memory


def test_a_registry_comes_back_from_its_data() -> None:
    """It goes on as if it had never been stored: ids keep their refs, and no ref is given twice."""
    memory = LIVED.with_registry(registry())
    again = ConversationContext.from_data(json.loads(json.dumps(memory.to_data())))
    assert again == memory
    known = again.id_registry
    assert (known.ref_of(7), known.id_of("gen_recipe_1")) == ("octopus_2", "id-1")
    assert [known.generate("recipes", turn=9)[1], known.read("octopi", 8, turn=9)[1]] == [
        "gen_recipe_3",
        "octopus_3",
    ]
    assert known.hide_ids({"octopus_id": 7}) == {"octopus_id": "octopus_2"}


def _tables(data: dict[str, Any]) -> dict[str, Any]:
    tables: dict[str, Any] = data["id_registry"]["records"]
    return tables


BROKEN: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "missing": ("history_summary: is missing", lambda data: data.pop("history_summary")),
    "unknown": ("more: is unknown", lambda data: data.update(more=1)),
    "type": ("recent_turns", lambda data: data.update(recent_turns="no")),
    "status": (
        "live.octopus_2.snapshot.status",
        lambda data: _tables(data)["live"]["octopus_2"]["snapshot"].update(status="eaten"),
    ),
    "another ref": (
        "'recipe_9' contradicts",
        lambda data: _tables(data)["live"].update(recipe_9=_tables(data)["live"]["recipe_1"]),
    ),
    "a ref that was never given": (
        "'octopus_2' contradicts",
        lambda data: _tables(data)["counters"].update(octopus=1),
    ),
    "an alias of nothing": (
        "'gen_recipe_1' contradicts",
        lambda data: _tables(data)["aliases"].update(gen_recipe_1="recipe_2"),
    ),
    "live and removed": (
        "'octopus_1' contradicts",
        lambda data: _tables(data)["live"].update(
            octopus_1=_as_live(_tables(data)["live"]["octopus_2"], "octopus_1", 9)
        ),
    ),
    "one id twice": (
        "'octopus_2' contradicts",
        lambda data: (
            _tables(data)["counters"].update(octopus=3),
            _tables(data)["live"].update(
                octopus_3=_as_live(_tables(data)["live"]["octopus_2"], "octopus_3", 7)
            ),
        ),
    ),
    "generated with an id": (
        "'gen_recipe_2' contradicts",
        lambda data: _tables(data)["live"]["gen_recipe_2"].update(id="id-2"),
    ),
}


def _as_live(entry: dict[str, Any], ref: str, id: int) -> dict[str, Any]:
    return {**entry, "snapshot": {**entry["snapshot"], "ref": ref}, "id": id}


@pytest.mark.parametrize(("problem", "spoil"), BROKEN.values(), ids=BROKEN)
def test_other_data_are_refused(problem: str, spoil: Callable[[dict[str, Any]], object]) -> None:
    """The error says where, and what is wrong."""
    data = json.loads(json.dumps(LIVED.with_registry(registry()).to_data()))
    spoil(data)
    with pytest.raises(InvalidDataError, match=problem):
        ConversationContext.from_data(data)
