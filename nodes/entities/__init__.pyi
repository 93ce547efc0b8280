from .names import EntityId, RefRefusedError, check_id, singular
from .presentation import (
    ENTITY_TABLE,
    Detail,
    EntityMode,
    Tier,
    entity_parts,
    format_entity_context,
    visible_entities,
)
from .records import (
    CurationAction,
    CurationEntry,
    EntityContext,
    EntitySnapshot,
    EntityStatus,
    Tombstone,
    UnknownRefError,
)
from .registry import SessionIdRegistry, get_entity_context

__all__ = [
    "ENTITY_TABLE",
    "CurationAction",
    "CurationEntry",
    "Detail",
    "EntityContext",
    "EntityId",
    "EntityMode",
    "EntitySnapshot",
    "EntityStatus",
    "RefRefusedError",
    "SessionIdRegistry",
    "Tier",
    "Tombstone",
    "UnknownRefError",
    "check_id",
    "entity_parts",
    "format_entity_context",
    "get_entity_context",
    "singular",
    "visible_entities",
]
