"""Curation: what Understand keeps in mind, puts out of it, and why."""

import pytest

from polycontext.nodes import SessionIdRegistry, get_entity_context
from polycontext.nodes.entities.records import UnknownRefError


@pytest.fixture
def soup() -> SessionIdRegistry:
    """Return a registry that read one recipe in turn 1."""
    return SessionIdRegistry().read("recipes", "a", "Soup", turn=1)[0]


def test_how_long_an_entity_is_active_can_be_said(soup: SessionIdRegistry) -> None:
    """With no turn more, only this turn's references count."""
    assert get_entity_context(soup, 1, active_turns=0).active
    assert not get_entity_context(soup, 2, active_turns=0).active
    assert get_entity_context(soup, 9, active_turns=8).active


def test_what_is_remembered_of_the_removed_is_bounded(soup: SessionIdRegistry) -> None:
    """The registry keeps the newest 500 tombstones, and never reuses a ref."""
    registry, idea = soup.generate("ideas", "Pie", turn=1)
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
