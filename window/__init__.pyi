from . import call_ids, filler, media, model_profiles, part_removal, rules
from .atoms import Atom, AtomColumns, Splice
from .context_window import ContextWindow
from .errors import InvalidMessagesError, InvalidTurnError, OrderError, PluginError, PositionError
from .items import ContextItem, ContextManager, ItemType, context_to_string
from .media_sizes import image_size
from .model_profiles import ModelProfile, find_model
from .part import Part, PartKind
from .sources import Sources, Traces
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
from .wire_text import compact, loaded_object

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
    "Sources",
    "Splice",
    "Store",
    "TiktokenCounter",
    "TokenCounter",
    "ToolCall",
    "Traces",
    "Turn",
    "call_ids",
    "compact",
    "context_to_string",
    "count_tools",
    "count_turn",
    "default_counter",
    "filler",
    "find_model",
    "image_size",
    "loaded_object",
    "media",
    "model_profiles",
    "part_removal",
    "rules",
]
