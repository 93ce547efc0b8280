"""The registry: what happens to an entity, and by which ref it goes."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from polycontext.base import CallerError, InvalidDataError, UnknownNameError
from polycontext.nodes import SessionIdRegistry
from polycontext.nodes.entities.records import UnknownRefError
from tests.nodes.entities.kitchen import kitchen


def test_ids_lead_to_refs_and_back() -> None:
    """An id has a ref in its type; where types share it, the type must be said."""
    registry, recipe = SessionIdRegistry().read("recipes", 7, turn=1)
    assert (registry.ref_of(7), registry.id_of(recipe)) == (recipe, 7)
    registry, lemon = registry.read("ingredients", 7, turn=1)
    assert (registry.ref_of(7, "recipes"), registry.ref_of(7, "ingredients")) == (recipe, lemon)
    with pytest.raises(
        InvalidDataError,
        match=r"^id: 7 belongs to several types. Use a type: one of ingredients, recipes",
    ):
        registry.ref_of(7)
    with pytest.raises(
        UnknownNameError, match=r"unknown str id of any type '7'. Use an id that was read"
    ):
        registry.ref_of("7")
    with pytest.raises(
        UnknownNameError, match=r"unknown int id of type 'plans' '7'. Use an id that"
    ):
        registry.ref_of(7, "plans")


USES: dict[str, Callable[[SessionIdRegistry, str], Any]] = {
    "get": lambda registry, ref: registry.get(ref),
    "id_of": lambda registry, ref: registry.id_of(ref),
    "touch": lambda registry, ref: registry.touch(ref, turn=9),
    "update": lambda registry, ref: registry.update(ref, turn=9),
    "save": lambda registry, ref: registry.save(ref, "x", turn=9),
    "delete": lambda registry, ref: registry.delete(ref, turn=9),
    "drop": lambda registry, ref: registry.drop(ref, turn=9),
    "retain": lambda registry, ref: registry.retain(ref, "why"),
    "demote": lambda registry, ref: registry.demote(ref),
    "to_ids": lambda registry, ref: registry.to_ids([ref]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_ref_that_names_nothing_is_refused_and_changes_nothing(
    use: Callable[[SessionIdRegistry, str], Any],
) -> None:
    """Every method refuses an unknown ref with near misses and a removed one with its tombstone."""
    registry = kitchen()
    before = copy.deepcopy(registry)
    with pytest.raises(UnknownRefError) as unknown:
        use(registry, "recipe_11")
    assert "recipe_1" in unknown.value.near
    assert isinstance(unknown.value, KeyError)
    with pytest.raises(
        UnknownRefError,
        match=r"ref 'meal_plan_1' was removed in turn 5. Use a ref that is still there",
    ) as removed:
        use(registry, "meal_plan_1")
    assert removed.value.tombstone == registry.tombstones[0]
    assert registry == before


BAD: dict[str, tuple[str, Callable[[SessionIdRegistry], Any]]] = {
    "blank type": ("type", lambda r: r.read("", "a", turn=1)),
    "generated type": ("type", lambda r: r.generate("9 lives", turn=1)),
    "blank id": ("id", lambda r: r.read("recipes", " ", turn=1)),
    "number as id": ("id", lambda r: r.read("recipes", 1.5, turn=1)),  # type: ignore[arg-type]
    "endless id": ("id", lambda r: r.read("recipes", 2**64, turn=1)),
    "saved id": ("id", lambda r: r.save("gen_recipe_1", "", turn=1)),
    "surrogate": ("label", lambda r: r.read("recipes", "a", "\ud800", turn=1)),
    "label": ("label", lambda r: r.update("recipe_1", 3, turn=1)),  # type: ignore[arg-type]
    "turn": ("turn", lambda r: r.touch("recipe_1", turn=-1)),
    "turn of a drop": ("turn_removed", lambda r: r.drop("recipe_1", turn=-1)),
    "reason": ("reason", lambda r: r.retain("recipe_1", " ")),
    "data": ("data", lambda r: r.read("recipes", "a", turn=1, data=[1])),  # type: ignore[arg-type]
    "data inside": (
        "data.when[1]",
        lambda r: r.read("recipes", "a", turn=1, data={"when": [1, object()]}),
    ),
    "ref": ("ref", lambda r: r.get(["recipe_1"])),  # type: ignore[arg-type]
    "current turn": ("current_turn", lambda r: r.context(-1)),
    "name": ("ref_names.dishes", lambda r: SessionIdRegistry(ref_names={"dishes": "a dish"})),
}


@pytest.mark.parametrize(("field", "use"), BAD.values(), ids=BAD)
def test_what_cannot_be_stored_or_shown_is_refused(
    field: str, use: Callable[[SessionIdRegistry], Any]
) -> None:
    """A value that is none is refused with the field it is in, and nothing changes."""
    registry = kitchen()
    before = copy.deepcopy(registry)
    with pytest.raises(InvalidDataError) as refused:
        use(registry)
    assert refused.value.path == field
    assert isinstance(refused.value, CallerError)
    assert registry == before


def test_no_repr_shows_an_id() -> None:
    """Printing a registry shows how much there is, never an id."""
    assert repr(kitchen()) == "SessionIdRegistry(6 entities, 1 removed)"


def test_what_is_remembered_of_the_removed_is_bounded() -> None:
    """The registry keeps the newest 500 tombstones, and never reuses a ref."""
    registry, _ = SessionIdRegistry().read("recipes", "a", "Soup", turn=1)
    registry, idea = registry.generate("ideas", "Pie", turn=1)
    registry, saved = registry.save(idea, "c0ffee00-1", turn=1)
    registry = registry.drop(saved, turn=1)
    for turn in range(2, 512):
        registry, ref = registry.read("recipes", f"id-{turn:08}", turn=turn)
        registry = registry.drop(ref, turn=turn)
    assert [stone.turn_removed for stone in registry.tombstones] == list(range(12, 512))
    assert (
        registry.hide_ids("id-00000012, id-00000011, c0ffee00-1")
        == "recipe_12, id-00000011, c0ffee00-1"
    )
    assert registry.read("recipes", "id-00000011", turn=512)[1] == "recipe_512"
    assert registry.read("ideas", "c0ffee00-1", turn=512)[1] == "idea_2"
    assert "recipe_1" in registry
    for forgotten in (idea, saved, "recipe_2"):
        with pytest.raises(UnknownRefError, match="is not in the registry"):
            registry.get(forgotten)
