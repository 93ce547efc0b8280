"""Layer 1: what things exist, and their status (seed 003)."""

from polycontext.nodes._values import InvalidRecordError, JsonObject
from polycontext.nodes.entities._checks import EntityId
from polycontext.nodes.entities.curation import CurationAction, CurationEntry
from polycontext.nodes.entities.errors import (
    AmbiguousIdError,
    EntityFormatError,
    RefRefusedError,
    UnknownIdError,
    UnknownModeError,
    UnknownRefError,
)
from polycontext.nodes.entities.modes import ENTITY_TABLE, Detail, EntityMode, Tier
from polycontext.nodes.entities.naming import singular
from polycontext.nodes.entities.parts import entity_parts, visible_entities
from polycontext.nodes.entities.printing import format_entity_context
from polycontext.nodes.entities.registry import SessionIdRegistry, get_entity_context
from polycontext.nodes.entities.snapshot import EntityContext, EntitySnapshot, EntityStatus, Tombstone

__all__ = [
    "ENTITY_TABLE",
    "AmbiguousIdError",
    "CurationAction",
    "CurationEntry",
    "Detail",
    "EntityContext",
    "EntityFormatError",
    "EntityId",
    "EntityMode",
    "EntitySnapshot",
    "EntityStatus",
    "InvalidRecordError",
    "JsonObject",
    "RefRefusedError",
    "SessionIdRegistry",
    "Tier",
    "Tombstone",
    "UnknownIdError",
    "UnknownModeError",
    "UnknownRefError",
    "entity_parts",
    "format_entity_context",
    "get_entity_context",
    "singular",
    "visible_entities",
]
