"""Ids out of sight: a context never shows what the database calls an entity."""

from typing import Any

import pytest

from polycontext.base.json_data import thaw
from polycontext.nodes import SessionIdRegistry, get_entity_context
from polycontext.nodes.entities.records import EntityVerb
from tests.growth import BOUND, FACTOR, growth

UUID = "0b5a4c1e-7f1d-4f57-9c64-2f4c6a1d8e01"


def shown(data: dict[str, Any], kind: str = "recipes", id_: str | int = UUID) -> Any:
    """Return the data of one entity as a context shows it."""
    registry, _ = SessionIdRegistry().read("ingredients", 5, turn=1)
    registry, _ = registry.read(kind, id_, turn=1, data=data)
    [entity] = [each for each in get_entity_context(registry, 1).active if each.type == kind]
    assert entity.data is not None
    shown: dict[str, Any] = thaw(entity.data)
    return shown


def test_a_long_id_is_hidden_wherever_it_stands() -> None:
    """In keys, inside of texts, as a number; the entity's own id too."""
    assert shown({"id": UUID, UUID: f"/r/{UUID}/1"}) == {
        "id": "recipe_1",
        "recipe_1": "/r/recipe_1/1",
    }
    assert shown({"n": 1234567890, "t": "no. 1234567890", "m": 12}, id_=1234567890) == {
        "n": "recipe_1",
        "t": "no. recipe_1",
        "m": 12,
    }


def test_a_short_id_is_hidden_in_fields_named_for_ids() -> None:
    """Elsewhere it may be any number or word."""
    data = {
        "id": 7,
        "ingredient_id": 5,
        "ingredients_ids": [5, 6],
        "servings": 7,
        "minutes": 5,
        "note": "7",
        "user_id": 5,
        "is_id": True,
    }
    assert shown(data, id_=7) == {
        "id": "recipe_1",
        "ingredient_id": "ingredient_1",
        "ingredients_ids": ["ingredient_1", 6],
        "servings": 7,
        "minutes": 5,
        "note": "7",
        "user_id": 5,
        "is_id": True,
    }


def test_a_short_id_within_is_of_the_type_that_its_field_names() -> None:
    """The id of a nested row is that of another table."""
    data = {"ingredients": [{"id": 5}, {"id": 7}], "ingredient": {"id": 5}, "author": {"id": 7}}
    assert shown(data, id_=7) == {
        "ingredients": [{"id": "ingredient_1"}, {"id": 7}],
        "ingredient": {"id": "ingredient_1"},
        "author": {"id": 7},
    }


def test_an_unknown_id_that_holds_a_known_one_is_not_taken_for_it() -> None:
    """Only whole words are hidden; in Chinese no space divides them."""
    registry, _ = SessionIdRegistry().read("products", "product-10", turn=1)
    unknown = "product-105 xproduct-10 product-10b product-10é"
    assert registry.hide_ids(unknown) == unknown
    known = "取消product-10订单 (product-10), product-1/product-10."
    assert registry.hide_ids(known) == "取消product_1订单 (product_1), product-1/product_1."


@pytest.mark.parametrize("unit", ["aa-", "a", "/chapter"])
def test_ids_that_share_their_start_are_hidden_in_one_pass(unit: str) -> None:
    """The cost grows with the text, whatever the lengths of ids that begin like it."""

    def known(number: int) -> SessionIdRegistry:
        ids = [(f"aaaaaaaa{unit * count}!", "x", None, "") for count in range(number)]
        registry = SessionIdRegistry().report(EntityVerb.READ, "pages", ids, turn=1)
        assert registry.hide_ids(f"aaaaaaaa{unit}!") == "page_2"
        return registry

    registries = {number: known(number) for number in (50, 50 * FACTOR)}
    assert growth(lambda size: registries[size].hide_ids("aaaaaaaa" + unit * 30 * size), 50) < BOUND


def test_the_id_of_what_was_removed_stays_hidden() -> None:
    """Data of others may still hold it; a row that came back is named by its new ref."""
    registry, old = SessionIdRegistry().read("recipes", UUID, turn=1)
    registry, _ = registry.delete(old, turn=1).read("meal_plans", 1, turn=1, data={"monday": UUID})
    assert get_entity_context(registry, 1).active[0].data == {"monday": old}
    registry, new = registry.read("recipes", UUID, turn=1)
    assert get_entity_context(registry, 1).active[0].data == {"monday": new}


def test_refs_are_told_by_name() -> None:
    """Refs, earlier refs and removed entities are replaced by their label on one line."""
    registry, idea = SessionIdRegistry().generate("recipes", "Cold\n# soup", turn=1)
    registry, _ = registry.save(idea, UUID, turn=1)
    registry, gone = registry.read("recipes", "b", f"Copy of {UUID}", turn=1)
    registry = registry.drop(gone, turn=1)
    told = "Cold\\n# soup"
    assert registry.name_refs(f"{idea}, recipe_1; {gone}!") == f"{told}, {told}; Copy of recipe_1!"
    assert (
        registry.name_refs("recipe_3 my_recipe_1 recipe_1x recipe_01")
        == "recipe_3 my_recipe_1 recipe_1x recipe_01"
    )
