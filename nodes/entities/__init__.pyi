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
    EntityContext,
    EntitySnapshot,
    EntityStatus,
    EntityVerb,
    Tombstone,
    UnknownRefError,
)
from .registry import Row, SessionIdRegistry, get_entity_context

__all__ = [
    "ENTITY_TABLE",
    "Detail",
    "EntityContext",
    "EntityId",
    "EntityMode",
    "EntitySnapshot",
    "EntityStatus",
    "EntityVerb",
    "RefRefusedError",
    "Row",
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
