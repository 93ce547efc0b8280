from . import attachment
from .attachment import attachment_of, item_turn
from .codec import item_from_dict, item_from_json, item_schema, item_to_dict, item_to_json
from .item import ITEM_IDS, ContextItem, MetadataWarning
from .manager import ContextManager, DuplicateItemError
from .markdown import fenced_text, register_formatter

__all__ = [
    "ITEM_IDS",
    "ContextItem",
    "ContextManager",
    "DuplicateItemError",
    "MetadataWarning",
    "attachment",
    "attachment_of",
    "fenced_text",
    "item_from_dict",
    "item_from_json",
    "item_schema",
    "item_to_dict",
    "item_to_json",
    "item_turn",
    "register_formatter",
]
