from . import call_ids, filler, media, model_profiles, part_removal, rules, sources, wire_text
from .atoms import Atom, AtomColumns, Splice
from .context_window import ContextWindow
from .errors import InvalidMessagesError, InvalidTurnError, OrderError, PluginError, PositionError
from .items.item import ContextItem, ItemType
from .items.manager import ContextManager
from .items.markdown import context_to_string
from .media_sizes import image_size
from .model_profiles import ModelProfile, find_model
from .part import Part, PartKind
from .store import Store
from .tokens.counter import (
    REQUEST_OVERHEAD,
    EstimatingCounter,
    TokenCounter,
    count_tools,
    count_turn,
)
from .tokens.tiktoken_counter import TiktokenCounter, default_counter
from .turn import Role, ToolCall, Turn
from .window_contents import Epoch

__all__ = [
    "REQUEST_OVERHEAD",
    "Atom",
    "AtomColumns",
    "ContextItem",
    "ContextManager",
    "ContextWindow",
    "Epoch",
    "EstimatingCounter",
    "InvalidMessagesError",
    "InvalidTurnError",
    "ItemType",
    "ModelProfile",
    "OrderError",
    "Part",
    "PartKind",
    "PluginError",
    "PositionError",
    "Role",
    "Splice",
    "Store",
    "TiktokenCounter",
    "TokenCounter",
    "ToolCall",
    "Turn",
    "call_ids",
    "context_to_string",
    "count_tools",
    "count_turn",
    "default_counter",
    "filler",
    "find_model",
    "image_size",
    "media",
    "model_profiles",
    "part_removal",
    "rules",
    "sources",
    "wire_text",
]
