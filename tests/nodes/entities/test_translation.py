"""Payloads: refs to ids on the way out, ids to refs on the way in."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError
from polycontext.nodes.entities.names import RefRefusedError
from polycontext.nodes.entities.records import UnknownRefError
from tests.nodes.entities.kitchen import CHICKEN_ID, LEMON_ID, PLAN_ID, SOUP_ID, STEW_ID, kitchen

REGISTRY = kitchen()


def test_every_text_that_is_a_ref_becomes_its_id() -> None:
    """At any depth, in lists and objects; texts that only mention a ref, keys and numbers stay."""
    payload = {
        "recipe_1": ["recipe_1", {"of": "recipe_4"}],
        "note": "see recipe_1",
        "n": 1,
        "lemon": "ingredient_1",
        "none": None,
    }
    assert REGISTRY.to_ids(payload) == {
        "recipe_1": [SOUP_ID, {"of": CHICKEN_ID}],
        "note": "see recipe_1",
        "n": 1,
        "lemon": LEMON_ID,
        "none": None,
    }


def test_an_invented_ref_is_refused_with_its_place() -> None:
    """A text that looks like a ref of a known type is refused if no such ref exists."""
    with pytest.raises(
        UnknownRefError,
        match=r"^\$\.items\[1\]\.recipe: ref 'recipe_44' is not in the registry. "
        r"Did you mean 'recipe_4'",
    ):
        REGISTRY.to_ids({"items": [{}, {"recipe": "recipe_44"}]})
    with pytest.raises(UnknownRefError, match=r"^\$: ref 'gen_meal_plan_1' is not"):
        REGISTRY.to_ids("gen_meal_plan_1")
    with pytest.raises(UnknownRefError, match=r"^\$\[0\]: ref 'meal_plan_1' was removed in turn 5"):
        REGISTRY.to_ids(["meal_plan_1"])


def test_a_generated_ref_has_no_id_to_be_translated_to() -> None:
    """It is refused with its place until it is saved; then its old name does."""
    with pytest.raises(
        RefRefusedError,
        match=r"^\$\.recipe_id: ref 'gen_recipe_1' is generated and has no id yet. Save it first",
    ):
        REGISTRY.to_ids({"recipe_id": "gen_recipe_1"})
    saved, _ = REGISTRY.save("gen_recipe_1", "new", turn=6)
    assert saved.to_ids({"recipe_id": "gen_recipe_1"}) == {"recipe_id": "new"}


@pytest.mark.parametrize(
    "fields",
    [
        ["recipe_id", "recipe_ids"],
        ("recipe_id", "recipe_ids"),
        {"recipe_id": "recipes", "recipe_ids": "recipes"},
    ],
)
def test_named_fields_alone_are_translated(fields: Any) -> None:
    """Only named fields are translated, at any depth; objects in them are not."""
    payload = {
        "recipe_id": "recipe_1",
        "in": [{"recipe_ids": ["recipe_2", None]}],
        "title": "recipe_4",
        "recipe_ids": {"x": "recipe_1"},
    }
    assert REGISTRY.to_ids(payload, fields) == {
        "recipe_id": SOUP_ID,
        "in": [{"recipe_ids": [STEW_ID, None]}],
        "title": "recipe_4",
        "recipe_ids": {"x": "recipe_1"},
    }


@pytest.mark.parametrize("value", [SOUP_ID, "version_2", 17, True, ""])
def test_a_named_field_holds_nothing_but_refs(value: Any) -> None:
    """An id or anything else that the model wrote there is refused: it knows no ids."""
    with pytest.raises(UnknownRefError, match=r"^\$\.recipe_id: ref .* is not in the registry"):
        REGISTRY.to_ids({"recipe_id": value}, "recipe_id")


def test_ids_that_come_in_become_refs() -> None:
    """Ids in any text become refs, numbers only in named fields; unknown ids stay."""
    row = {"id": SOUP_ID, "lemon": LEMON_ID, "plan": PLAN_ID, "user": "u-1", "list": [CHICKEN_ID]}
    assert REGISTRY.to_refs(row) == {
        "id": "recipe_1",
        "lemon": LEMON_ID,
        "plan": "meal_plan_1",
        "user": "u-1",
        "list": ["recipe_4"],
    }
    assert REGISTRY.to_refs({"lemon": LEMON_ID, "n": LEMON_ID, "x": True}, ["lemon", "x"]) == {
        "lemon": "ingredient_1",
        "n": 17,
        "x": True,
    }


def test_a_payload_too_deep_is_refused() -> None:
    """A hostile payload is refused, never a RecursionError."""
    payload: Any = "recipe_1"
    for _ in range(100_000):
        payload = [payload]
    with pytest.raises(
        InvalidDataError, match=r"nested deeper than 100 levels. Use at most 100 levels"
    ):
        REGISTRY.to_ids(payload)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([SOUP_ID, CHICKEN_ID, STEW_ID])
)
PAYLOADS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
)


@given(PAYLOADS)
def test_out_after_in_is_the_payload(payload: Any) -> None:
    """Translating a payload to refs and back restores it, and no id is visible in between."""
    translated = REGISTRY.to_refs(payload)
    assert REGISTRY.to_ids(translated) == payload
    assert not {SOUP_ID, CHICKEN_ID, STEW_ID} & set(leaves(translated))


def leaves(payload: Any) -> list[str]:
    """Return the texts in a payload."""
    if isinstance(payload, dict):
        return leaves(list(payload.values()))
    if isinstance(payload, list):
        return [text for item in payload for text in leaves(item)]
    return [payload] if isinstance(payload, str) else []
