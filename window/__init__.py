"""What is in the context? Turns, atoms, token counting, the Store comonad, provider formats."""

from polycontext.window.atoms import Atom, AtomColumns, open_calls
from polycontext.window.context_window import ContextWindow
from polycontext.window.errors import InvalidMessagesError, InvalidTurnError, OrderError, PositionError
from polycontext.window.items import ContextItem, ContextManager, ItemType, context_to_string
from polycontext.window.pills import FileResolver, PillDocument
from polycontext.window.splice import Splice, SpliceError
from polycontext.window.store import Store, StoreComonad
from polycontext.window.tokens.calibration import CalibratedCounter, CalibrationError, calibrate
from polycontext.window.tokens.counting import REQUEST_OVERHEAD, EstimatingCounter, TokenCounter, count_tools, count_turn, is_exact
from polycontext.window.tokens.tiktoken_counter import InexactCountWarning, TiktokenCounter, UnknownEncodingError, default_counter
from polycontext.window.turn import Part, Role, ToolCall, Turn

__all__ = [
    "REQUEST_OVERHEAD",
    "Atom",
    "AtomColumns",
    "CalibratedCounter",
    "CalibrationError",
    "ContextItem",
    "ContextManager",
    "ContextWindow",
    "EstimatingCounter",
    "FileResolver",
    "InexactCountWarning",
    "InvalidMessagesError",
    "InvalidTurnError",
    "ItemType",
    "OrderError",
    "Part",
    "PillDocument",
    "PositionError",
    "Role",
    "Splice",
    "SpliceError",
    "Store",
    "StoreComonad",
    "TiktokenCounter",
    "TokenCounter",
    "ToolCall",
    "Turn",
    "UnknownEncodingError",
    "calibrate",
    "context_to_string",
    "count_tools",
    "count_turn",
    "default_counter",
    "is_exact",
    "open_calls",
]
