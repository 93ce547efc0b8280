"""What is in the context? Turns, atoms, token counting, the Store comonad, provider formats."""

from polycontext.window.atoms import Atom, AtomColumns, open_calls
from polycontext.window.context_window import ContextWindow, Splice
from polycontext.window.errors import InvalidMessagesError, InvalidTurnError, OrderError, PositionError
from polycontext.window.store import Store, StoreComonad
from polycontext.window.tiktoken_counter import TiktokenCounter, default_counter
from polycontext.window.tokens import REQUEST_OVERHEAD, TokenCounter, count_tools, count_turn
from polycontext.window.turn import Part, Role, ToolCall, Turn

__all__ = [
    "REQUEST_OVERHEAD",
    "Atom",
    "AtomColumns",
    "ContextWindow",
    "InvalidMessagesError",
    "InvalidTurnError",
    "OrderError",
    "Part",
    "PositionError",
    "Role",
    "Splice",
    "Store",
    "StoreComonad",
    "TiktokenCounter",
    "TokenCounter",
    "ToolCall",
    "Turn",
    "count_tools",
    "count_turn",
    "default_counter",
    "open_calls",
]
