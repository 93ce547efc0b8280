"""Who is in which tier: a pure reading of the records at a turn."""

from polycontext.nodes.entities._checks import check_count
from polycontext.nodes.entities._records import Entry, Records
from polycontext.nodes.entities._veil import Veil
from polycontext.nodes.entities.modes import Tier
from polycontext.nodes.entities.snapshot import EntityContext


def tier_of(entry: Entry, oldest: int) -> Tier | None:
    """Return the tier of an entity, None if it is out of mind; active are those referenced in turn `oldest` or later.

    Laws: a generated entity is shown whatever its age; a demoted one is not active.
    """
    if not entry.is_saved:
        return Tier.GENERATED
    if entry.snapshot.turn_last_ref >= oldest and not entry.demoted:
        return Tier.ACTIVE
    return None if entry.snapshot.retention_reason is None else Tier.RETAINED


def entity_context(records: Records, veil: Veil, current_turn: int, active_turns: int) -> EntityContext:
    """Return what exists at a turn in its tiers, without ids."""
    oldest = check_count(current_turn, "current_turn") - check_count(active_turns, "active_turns")
    tiers = [(tier_of(entry, oldest), entry.snapshot) for entry in records.entries.values()]
    active, generated, retained = (
        tuple(veil.snapshot(snapshot) for found, snapshot in tiers if found is tier)
        for tier in (Tier.ACTIVE, Tier.GENERATED, Tier.RETAINED)
    )
    stones = (grave.tombstone for grave in records.graves.values() if grave.tombstone.turn_removed >= oldest)
    return EntityContext(active, generated, retained, tuple(map(veil.tombstone, stones)), current_turn)
