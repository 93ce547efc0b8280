from .names import EntityId, RefRefusedError, check_id
from .presentation import (
    EntityMode,
    format_entity_context,
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
    "EntityContext",
    "EntityId",
    "EntityMode",
    "EntitySnapshot",
    "EntityStatus",
    "EntityVerb",
    "RefRefusedError",
    "Row",
    "SessionIdRegistry",
    "Tombstone",
    "UnknownRefError",
    "check_id",
    "format_entity_context",
    "get_entity_context",
]
