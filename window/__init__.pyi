from . import filler, part_removal
from .atoms import Atom, AtomColumns, Splice, open_calls
from .context_window import ContextWindow
from .errors import InvalidMessagesError, InvalidTurnError, OrderError, PluginError, PositionError
from .items import ContextItem, ContextManager, ItemType, context_to_string
from .media_sizes import image_size
from .model_profiles import ModelProfile, find_model
from .part import Part, PartKind
from .store import Store, StoreComonad
from .tokens.counter import (
    REQUEST_OVERHEAD,
    CalibratedCounter,
    EstimatingCounter,
    TokenCounter,
    calibrate,
    count_tools,
    count_turn,
    is_exact,
)
from .tokens.tiktoken_counter import TiktokenCounter, default_counter
from .tokens.vocabulary import InexactCountWarning
from .turn import Role, ToolCall, Turn
from .window_contents import Epoch
from .wire_text import compact, loaded_object

__all__ = [
    "REQUEST_OVERHEAD",
    "Atom",
    "AtomColumns",
    "CalibratedCounter",
    "ContextItem",
    "ContextManager",
    "ContextWindow",
    "Epoch",
    "EstimatingCounter",
    "InexactCountWarning",
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
    "StoreComonad",
    "TiktokenCounter",
    "TokenCounter",
    "ToolCall",
    "Turn",
    "calibrate",
    "compact",
    "context_to_string",
    "count_tools",
    "count_turn",
    "default_counter",
    "filler",
    "find_model",
    "image_size",
    "is_exact",
    "loaded_object",
    "open_calls",
    "part_removal",
]
