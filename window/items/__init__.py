"""Context items: code, files and texts attached to a conversation (docs/items.md). Each name is loaded when it is first asked for."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from .attachment import Attachment, attached_outline, attachment_of, item_turn, source_of
    from .codec import item_from_dict, item_from_json, item_schema, item_to_dict, item_to_json
    from .item import ITEM_IDS, ContextItem, ItemIds, ItemType
    from .manager import ContextManager, DuplicateItemError
    from .markdown import Formatter, context_to_string, fenced_text, language_of_file, register_formatter
    from .metadata import MetadataWarning
    from .outline import OutlineEntry, outline_of
    from .python_source import Definition, definitions

__all__ = [
    "ITEM_IDS",
    "Attachment",
    "ContextItem",
    "ContextManager",
    "Definition",
    "DuplicateItemError",
    "Formatter",
    "ItemIds",
    "ItemType",
    "MetadataWarning",
    "OutlineEntry",
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
    "language_of_file",
    "outline_of",
    "register_formatter",
    "source_of",
]

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "attachment": ["Attachment", "attached_outline", "attachment_of", "item_turn", "source_of"],
        "codec": ["item_from_dict", "item_from_json", "item_schema", "item_to_dict", "item_to_json"],
        "python_source": ["Definition", "definitions"],
        "item": ["ContextItem", "ITEM_IDS", "ItemIds", "ItemType"],
        "manager": ["ContextManager", "DuplicateItemError"],
        "markdown": ["Formatter", "context_to_string", "fenced_text", "language_of_file", "register_formatter"],
        "metadata": ["MetadataWarning"],
        "outline": ["OutlineEntry", "outline_of"],
    },
)
