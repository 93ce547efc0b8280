"""Layer 2: what user and assistant said (docs/memory.md)."""

from .construction import ANSWER_TOKENS, Depth, Exchange, get_conversation_history, open_exchange
from .exchanges import ConversationHistory, ConversationTurn, PendingKind, PendingState
from .visibility import ConversationPart, conversation_parts, format_conversation_for_prompt, visible_conversation

__all__ = [
    "ANSWER_TOKENS",
    "ConversationHistory",
    "ConversationPart",
    "ConversationTurn",
    "Depth",
    "Exchange",
    "PendingKind",
    "PendingState",
    "conversation_parts",
    "format_conversation_for_prompt",
    "get_conversation_history",
    "open_exchange",
    "visible_conversation",
]
