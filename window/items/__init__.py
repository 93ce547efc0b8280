"""Context items: code, files and texts attached to a conversation (seed 000)."""

from polycontext.window.items.attachment import Attachment, attached_outline, attachment_of, item_turn, source_of
from polycontext.window.items.codec import item_from_dict, item_from_json, item_schema, item_to_dict, item_to_json
from polycontext.window.items.definitions import Definition, definitions
from polycontext.window.items.errors import (
    DuplicateItemError,
    FormatterError,
    InvalidItemError,
    ItemFormatError,
    ItemTooLargeError,
    MetadataWarning,
    UnknownItemError,
)
from polycontext.window.items.formatters import Formatter, register_formatter
from polycontext.window.items.ids import ITEM_IDS, ItemIds
from polycontext.window.items.item import ContextItem, ItemType
from polycontext.window.items.languages import language_of_file
from polycontext.window.items.manager import ContextManager
from polycontext.window.items.markdown import context_to_string, fenced_text
from polycontext.window.items.outline import OutlineEntry, outline_of

__all__ = [
    "ITEM_IDS",
    "Attachment",
    "ContextItem",
    "ContextManager",
    "Definition",
    "DuplicateItemError",
    "Formatter",
    "FormatterError",
    "InvalidItemError",
    "ItemFormatError",
    "ItemIds",
    "ItemTooLargeError",
    "ItemType",
    "MetadataWarning",
    "OutlineEntry",
    "UnknownItemError",
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
