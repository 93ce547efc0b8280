"""Stored registries: written and read without loss, and nothing else is read."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from polycontext.base import InvalidDataError
from polycontext.nodes.entities import SessionIdRegistry, get_entity_context
from tests.nodes.entities.kitchen import kitchen

Doc = dict[str, Any]


def document() -> Doc:
    """Return a stored registry that has everything in it."""
    registry, _ = kitchen().generate("recipes", "Pie", turn=6)
    registry, _ = registry.save("gen_recipe_2", "77aa88bb", turn=6)
    names = SessionIdRegistry(ref_names={"octopi": "octopus"}).to_dict()["ref_names"]
    stored: Doc = json.loads(json.dumps(registry.to_dict() | {"ref_names": names}))
    return stored


def test_a_stored_registry_is_read_back_as_it_was() -> None:
    """JSON and back gives an equal registry, in the same order, that goes on where it was."""
    stored = document()
    registry = SessionIdRegistry.from_dict(stored)
    assert json.dumps(registry.to_dict()) == json.dumps(stored)
    assert SessionIdRegistry.from_dict(registry.to_dict()) == registry
    assert registry.read("recipes", "new", turn=9)[1] == "recipe_6"
    assert registry.read("octopi", "new", turn=9)[1] == "octopus_1"
    assert registry.id_of("gen_recipe_2") == "77aa88bb"
    assert registry.ref_of("9d2e6b70-plan") == "meal_plan_1"


def set_in(*path: Any) -> Callable[[Doc], None]:
    """Return what writes the last item to the place that the others lead to."""
    *steps, last, value = path

    def change(data: Any) -> None:
        for step in steps:
            data = data[step]
        data[last] = value

    return change


def without(*path: Any) -> Callable[[Doc], None]:
    """Return what removes a place."""
    *steps, last = path

    def change(data: Any) -> None:
        for step in steps:
            data = data[step]
        del data[last]

    return change


SNAPSHOT = ("entities", 0, "snapshot")
BAD: list[tuple[Callable[[Doc], None], str, str]] = [
    (without("schema"), "$.schema", "None cannot be read"),
    (set_in("schema", "polycontext.linearity"), "$.schema", "cannot be read"),
    (set_in("version", 2), "$.version", "2 cannot be read"),
    (set_in("version", True), "$.version", "True cannot be read"),
    (without("log"), "$.log", "is missing"),
    (set_in("more", 1), "$.more", "is unknown"),
    (set_in("entities", {}), "$.entities", "dict is not a list"),
    (set_in("entities", 0, []), "$.entities[0]", "list is not an object"),
    (set_in("entities", 0, "demoted", 0), "$.entities[0].demoted", "0 is not a truth value"),
    (without("entities", 0, "demoted"), "$.entities[0].demoted", "is missing"),
    (set_in("entities", 0, "id", 1.5), "$.entities[0].id", "1.5 is not an id"),
    (set_in("entities", 0, "id", ""), "$.entities[0].id", "is blank"),
    (set_in(*SNAPSHOT, "status", "eaten"), "$.entities[0].snapshot.status", "unknown 'eaten'"),
    (set_in(*SNAPSHOT, "status", ["read"]), "$.entities[0].snapshot.status", "unknown list"),
    (
        set_in(*SNAPSHOT, "turn_created", "1"),
        "$.entities[0].snapshot.turn_created",
        "'1' is not a whole number",
    ),
    (
        set_in(*SNAPSHOT, "turn_last_ref", 0),
        "$.entities[0].snapshot.turn_last_ref",
        "0 is before turn 1",
    ),
    (
        set_in(*SNAPSHOT, "retention_reason", " "),
        "$.entities[0].snapshot.retention_reason",
        "is blank",
    ),
    (set_in(*SNAPSHOT, "ref", "soup"), "$.entities[0].snapshot.ref", "'soup' is not a ref"),
    (set_in(*SNAPSHOT, "ref", ""), "$.entities[0].snapshot.ref", "'' was never given out"),
    (set_in(*SNAPSHOT, "type", "a b"), "$.entities[0].snapshot.type", "'a b' is not a valid name"),
    (set_in(*SNAPSHOT, "data", [1]), "$.entities[0].snapshot.data", "list is not an object"),
    (
        set_in(*SNAPSHOT, "data", {"x": float("nan")}),
        "$.entities[0].snapshot.data.x",
        "nan is not JSON data",
    ),
    (set_in("log", 0, "action", "eat"), "$.log[0].action", "unknown 'eat'"),
    (set_in("log", 0, "turn", -1), "$.log[0].turn", "-1 is not a valid number"),
    (set_in("counters", []), "$.counters", "list is not an object"),
    (set_in("counters", "recipe", "9"), "$.counters.recipe", "'9' is not a whole number"),
    (
        set_in("counters", "recipe", 4),
        "$.entities[6].snapshot.ref",
        "'recipe_5' was never given out",
    ),
    (
        without("counters", "meal_plan"),
        "$.tombstones[0].tombstone.ref",
        "'meal_plan_1' was never given out",
    ),
    (
        set_in("counters", "gen_recipe", 1),
        "$.aliases.gen_recipe_2",
        "'gen_recipe_2' was never given out",
    ),
    (set_in("counters", "a b", 1), "$.counters['a b']", "1 is not a count of refs"),
    (set_in("counters", "recipe", -1), "$.counters.recipe", "-1 is not a count of refs"),
    (
        set_in("ref_names", "octopi", "an octopus"),
        "$.ref_names.octopi",
        "'an octopus' is not a valid name",
    ),
    (
        set_in(*SNAPSHOT, "ref", "recipe_2"),
        "$.entities[1].snapshot.ref",
        "'recipe_2' stands for another entity already",
    ),
    (
        set_in(*SNAPSHOT, "ref", "gen_recipe_2"),
        "$.entities[0].snapshot.ref",
        "stands for another entity already",
    ),
    (
        set_in(*SNAPSHOT, "ref", "meal_plan_1"),
        "$.entities[0].snapshot.ref",
        "stands for another entity already",
    ),
    (
        set_in("entities", 1, "id", "81b7d3c4-soup"),
        "$.entities[1].id",
        "belongs to an earlier entity already",
    ),
    (
        set_in(*SNAPSHOT, "status", "deleted"),
        "$.entities[0].snapshot.status",
        "deleted is not the status of a live entity",
    ),
    (
        set_in(*SNAPSHOT, "status", "generated"),
        "$.entities[0].snapshot.status",
        "generated is not the status",
    ),
    (set_in("entities", 0, "id", None), "$.entities[0].snapshot.status", "read is not the status"),
    (
        set_in("entities", 2, "demoted", True),
        "$.entities[2].demoted",
        "is true of a generated entity",
    ),
    (
        set_in("aliases", "gen_recipe_2", "recipe_9"),
        "$.aliases.gen_recipe_2",
        "leads to 'recipe_9', which names nothing",
    ),
]


@pytest.mark.parametrize(
    ("change", "path", "problem"), BAD, ids=[f"{path} {problem}" for _, path, problem in BAD]
)
def test_a_document_that_is_no_registry_is_refused(
    change: Callable[[Doc], None], path: str, problem: str
) -> None:
    """The error names the place of the fault and what is wrong there."""
    stored = document()
    change(stored)
    with pytest.raises(InvalidDataError) as refused:
        SessionIdRegistry.from_dict(stored)
    assert refused.value.path == path
    assert problem in str(refused.value)


@pytest.mark.parametrize("data", [None, [], "{}", 3])
def test_what_is_no_object_is_refused(data: Any) -> None:
    """A context is built from a registry or a stored dict, nothing else."""
    with pytest.raises(
        InvalidDataError, match=r"^\$: .* is not an object. Use what to_dict returned"
    ):
        get_entity_context(data, 1)
