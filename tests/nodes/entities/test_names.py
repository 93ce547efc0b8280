"""Names: from types to refs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes import SessionIdRegistry
from polycontext.nodes.entities.names import parse_ref, singular


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("ingredients", "ingredient"),
        ("pantries", "pantry"),
        ("ties", "tie"),
        ("lunches", "lunch"),
        ("boxes", "box"),
        ("glasses", "glass"),
        ("glass", "glass"),
        ("bus", "bus"),
        ("analysis", "analysis"),
        ("user_stories", "user_story"),
        ("grand_children", "grand_child"),
        ("movies", "movie"),
        ("s", "s"),
        ("食谱", "食谱"),
    ],
)
def test_the_singular_follows_the_documented_rule(plural: str, expected: str) -> None:
    """Endings decide, of the last word alone; a few irregular words are known."""
    assert singular(plural) == expected


def test_types_with_dots_and_hyphens_give_plain_refs() -> None:
    """A ref is one word, whatever the table is called."""
    assert SessionIdRegistry().read("public.meal-plans", 1, turn=1)[1] == "public_meal_plan_1"


def test_a_name_of_the_callers_own_wins() -> None:
    """`ref_names` overrides the naming rule, for generated refs too."""
    registry = SessionIdRegistry(ref_names={"octopi": "octopus"})
    assert registry.read("octopi", 1, turn=1)[1] == "octopus_1"
    assert registry.generate("octopi", turn=1)[1] == "gen_octopus_1"


@given(st.from_regex(r"[^\W\d]\w{0,8}(?:[.-]\w{1,4})?", fullmatch=True), st.integers(1, 3))
def test_every_type_gives_refs_that_are_read_back(kind: str, count: int) -> None:
    """Whatever a type is called, its refs have the form of a ref and differ."""
    registry, refs = SessionIdRegistry(), []
    for number in range(count):
        registry, ref = registry.read(kind, number, turn=1)
        refs.append(ref)
    assert [(parse_ref(ref) or ("", 0))[1] for ref in refs] == list(range(1, count + 1))


@pytest.mark.parametrize(
    "text",
    [
        "recipe",
        "recipe_",
        "recipe_0",
        "recipe_01",
        "_1",
        "a b_1",
        "recipe_1\n",
        "recipe_١",
        "",
        "recipe_-1",
    ],
)
def test_what_has_not_the_form_of_a_ref_is_none(text: str) -> None:
    """A ref is a name, an underscore and a number from 1 in plain digits."""
    assert parse_ref(text) is None
