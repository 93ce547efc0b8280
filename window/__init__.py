"""What is in the context? Turns, atoms, token counting, the Store comonad, items, pills; each name is loaded when it is first asked for."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from polycontext.window.atoms import Atom, AtomColumns, open_calls
    from polycontext.window.context_window import ContextWindow
    from polycontext.window.errors import InvalidMessagesError, InvalidTurnError, OrderError, PluginError, PositionError
    from polycontext.window.items import ContextItem, ContextManager, ItemType, context_to_string
    from polycontext.window.pills import FileResolver, PillDocument
    from polycontext.window.splice import Splice
    from polycontext.window.store import Store, StoreComonad
    from polycontext.window.tokens.calibration import CalibratedCounter, calibrate
    from polycontext.window.tokens.counting import REQUEST_OVERHEAD, EstimatingCounter, TokenCounter, count_tools, count_turn, is_exact
    from polycontext.window.tokens.tiktoken_counter import InexactCountWarning, TiktokenCounter, default_counter
    from polycontext.window.turn import Part, Role, ToolCall, Turn

__all__ = [
    "REQUEST_OVERHEAD",
    "Atom",
    "AtomColumns",
    "CalibratedCounter",
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

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "atoms": ["Atom", "AtomColumns", "open_calls"],
        "context_window": ["ContextWindow"],
        "errors": ["InvalidMessagesError", "InvalidTurnError", "OrderError", "PluginError", "PositionError"],
        "items": ["ContextItem", "ContextManager", "ItemType", "context_to_string"],
        "pills": ["FileResolver", "PillDocument"],
        "splice": ["Splice"],
        "store": ["Store", "StoreComonad"],
        "tokens.calibration": ["CalibratedCounter", "calibrate"],
        "tokens.counting": ["EstimatingCounter", "REQUEST_OVERHEAD", "TokenCounter", "count_tools", "count_turn", "is_exact"],
        "tokens.tiktoken_counter": ["InexactCountWarning", "TiktokenCounter", "default_counter"],
        "turn": ["Part", "Role", "ToolCall", "Turn"],
    },
)
