"""Curation: what Understand keeps in mind, puts out of it, and why."""

import pytest

from polycontext.nodes import SessionIdRegistry, get_entity_context
from polycontext.nodes.entities.names import RefRefusedError
from polycontext.nodes.entities.records import UnknownRefError


def refs(registry: SessionIdRegistry, turn: int) -> tuple[list[str], list[str], list[str]]:
    """Return the refs of the three tiers at a turn."""
    ctx = get_entity_context(registry, turn)
    active, generated, retained = (
        [each.ref for each in tier] for tier in (ctx.active, ctx.generated, ctx.retained)
    )
    return active, generated, retained


@pytest.fixture
def soup() -> SessionIdRegistry:
    """Return a registry that read one recipe in turn 1."""
    return SessionIdRegistry().read("recipes", "a", "Soup", turn=1)[0]


def test_an_entity_is_active_for_this_and_two_more_turns(soup: SessionIdRegistry) -> None:
    """Referenced in turn 1, it is active in 1, 2 and 3 and out of mind in 4, but known."""
    assert [refs(soup, turn)[0] for turn in (1, 2, 3, 4)] == [
        ["recipe_1"],
        ["recipe_1"],
        ["recipe_1"],
        [],
    ]
    assert refs(soup, 4) == ([], [], [])
    assert "recipe_1" in soup


def test_how_long_an_entity_is_active_can_be_said(soup: SessionIdRegistry) -> None:
    """With no turn more, only this turn's references count."""
    assert get_entity_context(soup, 1, active_turns=0).active
    assert not get_entity_context(soup, 2, active_turns=0).active
    assert get_entity_context(soup, 9, active_turns=8).active


def test_a_retained_entity_is_kept_when_it_is_active_no_more(soup: SessionIdRegistry) -> None:
    """While it is active it stands there alone, with its reason; retaining is no reference."""
    registry = soup.retain("recipe_1", "a favourite")
    assert (refs(registry, 3), refs(registry, 4)) == (
        (["recipe_1"], [], []),
        ([], [], ["recipe_1"]),
    )
    assert get_entity_context(registry, 99).retained[0].retention_reason == "a favourite"


def test_a_demoted_entity_leaves_at_once(soup: SessionIdRegistry) -> None:
    """Demoting an entity referenced in this turn removes it at once, with its retention reason."""
    registry = soup.retain("recipe_1", "a favourite").demote("recipe_1")
    assert refs(registry, 1) == ([], [], [])
    assert registry.get("recipe_1").retention_reason is None


@pytest.mark.parametrize("report", ["touch", "read", "update", "link"])
def test_a_demoted_entity_comes_back_when_it_is_referenced(
    soup: SessionIdRegistry, report: str
) -> None:
    """Any report that references it makes it active again, even in the same turn."""
    registry = soup.demote("recipe_1")
    again = {
        "touch": lambda: registry.touch("recipe_1", turn=1),
        "read": lambda: registry.read("recipes", "a", turn=1)[0],
        "update": lambda: registry.update("recipe_1", turn=1),
        "link": lambda: registry.link("recipes", "a", turn=1)[0],
    }[report]()
    assert refs(again, 1) == (["recipe_1"], [], [])


def test_a_demoted_entity_that_is_retained_is_retained_only(soup: SessionIdRegistry) -> None:
    """Retaining is no reference: it brings back into mind, not into the active tier."""
    registry = soup.demote("recipe_1").retain("recipe_1", "for later")
    assert refs(registry, 1) == ([], [], ["recipe_1"])


def test_a_generated_entity_never_vanishes_by_age() -> None:
    """It is shown until it is saved or dropped, is never in two tiers, and cannot be demoted."""
    registry, idea = SessionIdRegistry().generate("recipes", "Pie", turn=1)
    registry = registry.retain(idea, "promised")
    assert refs(registry, 10**6) == ([], [idea], [])
    with pytest.raises(RefRefusedError, match=r"so it stays in sight. Save or drop it"):
        registry.demote(idea)
    saved, ref = registry.save(idea, "a", turn=2)
    assert refs(saved, 2) == ([ref], [], [])
    assert refs(registry.drop(idea, turn=2), 2) == ([], [], [])


def test_clearing_spares_what_is_not_saved_unless_told(soup: SessionIdRegistry) -> None:
    """Clearing forgets everything but the generated; with an explicit word those too."""
    registry, idea = soup.generate("recipes", "Pie", turn=1)
    assert list(registry.clear_all(turn=2)) == [idea]
    cleared = registry.clear_all("new topic", turn=2, include_generated=True)
    assert list(cleared) == []
    assert [(stone.ref, stone.reason) for stone in cleared.tombstones] == [
        ("recipe_1", "new topic"),
        (idea, "new topic"),
    ]


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


def test_a_tombstone_is_in_sight_as_long_as_an_active_entity(soup: SessionIdRegistry) -> None:
    """Removed in turn 2 it is shown until turn 4; the registry knows it longer."""
    registry = soup.drop("recipe_1", turn=2)
    assert [len(get_entity_context(registry, turn).tombstones) for turn in (2, 3, 4, 5)] == [
        1,
        1,
        1,
        0,
    ]
    assert len(registry.tombstones) == 1
