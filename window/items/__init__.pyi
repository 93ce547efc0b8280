from .attachment import (
    Attachment,
    Definition,
    attached_metadata,
    attached_outline,
    attachment_of,
    definitions,
    item_turn,
    outline_of,
    shown_text,
    source_of,
)
from .codec import item_from_dict, item_from_json, item_schema, item_to_dict, item_to_json
from .item import ITEM_IDS, ContextItem, ItemType, MetadataWarning
from .manager import ContextManager, DuplicateItemError
from .markdown import (
    context_to_string,
    fenced_text,
    register_formatter,
)

__all__ = [
    "ITEM_IDS",
    "Attachment",
    "ContextItem",
    "ContextManager",
    "Definition",
    "DuplicateItemError",
    "ItemType",
    "MetadataWarning",
    "attached_metadata",
    "attached_outline",
    "attachment_of",
    "context_to_string",
    "definitions",
    "fenced_text",
    "item_from_dict",
    "item_from_json",
    "item_schema",
    "item_to_dict",
    "item_to_json",
    "item_turn",
    "outline_of",
    "register_formatter",
    "shown_text",
    "source_of",
]
