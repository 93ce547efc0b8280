"""A registry with something in every tier, for tests that look at it."""

from polycontext.nodes import SessionIdRegistry

CHICKEN_ID = "5f0c2a9e-chicken"
SOUP_ID = "81b7d3c4-soup"
STEW_ID = "c4e9f1a2-stew"
PLAN_ID = "9d2e6b70-plan"
LEMON_ID = 17
IDS = (CHICKEN_ID, SOUP_ID, STEW_ID, PLAN_ID)
"""Those long enough to be told from words and numbers."""

NOW = 6
"""The turn in which the kitchen is looked at."""


def kitchen() -> SessionIdRegistry:
    """Return a registry in which at turn 6 every tier has an entity, and one is out of mind."""
    registry, soup = SessionIdRegistry().read(
        "recipes", SOUP_ID, "Tomato Soup", turn=1, data={"servings": 2}
    )
    registry, stew = registry.read("recipes", STEW_ID, "Bean Stew", turn=1)
    registry, _ = registry.generate(
        "recipes", "Cold Lemon Soup", turn=2, data={"servings": 1, "based_on": SOUP_ID}
    )
    registry, gone = registry.create("meal_plans", PLAN_ID, "Week 12", turn=2)
    registry, _ = registry.read("recipes", "e0a1b2c3-salad", "Green Salad", turn=2)
    data = {
        "id": CHICKEN_ID,
        "servings": 4,
        "ingredient_ids": [LEMON_ID],
        "steps": ["Zest.", "Roast 50 min."],
        "like": [SOUP_ID],
        "rating": 4.5,
    }
    registry, _ = registry.read("recipes", CHICKEN_ID, "Lemon Herb Chicken", turn=4, data=data)
    registry, _ = registry.link("ingredients", LEMON_ID, "Lemon", turn=5)
    registry = registry.retain(soup, "the user cooks it every week")
    registry = registry.retain(stew, f"compare with {SOUP_ID}").demote(stew)
    return registry.delete(gone, "the user deleted it", turn=5)
