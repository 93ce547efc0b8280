from .atoms import Atom, AtomColumns, Splice, open_calls
from .context_window import ContextWindow
from .epoch import Epoch
from .errors import InvalidMessagesError, InvalidTurnError, OrderError, PluginError, PositionError
from .items import ContextItem, ContextManager, ItemType, context_to_string
from .part import Part, PartKind
from .pills import FileResolver, PillDocument
from .store import Store, StoreComonad
from .tokens.calibration import CalibratedCounter, calibrate
from .tokens.counting import REQUEST_OVERHEAD, EstimatingCounter, TokenCounter, count_tools, count_turn, is_exact
from .tokens.tiktoken_counter import TiktokenCounter, default_counter
from .tokens.vocabulary import InexactCountWarning
from .turn import Role, ToolCall, Turn

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
    "FileResolver",
    "InexactCountWarning",
    "InvalidMessagesError",
    "InvalidTurnError",
    "ItemType",
    "OrderError",
    "Part",
    "PartKind",
    "PillDocument",
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
    "context_to_string",
    "count_tools",
    "count_turn",
    "default_counter",
    "is_exact",
    "open_calls",
]
