"""Layer 2: what user and assistant said (seed 003)."""

from polycontext.nodes._values import InvalidRecordError
from polycontext.nodes.history.condense import condense
from polycontext.nodes.history.depth import DEPTHS, Depth, UnknownDepthError
from polycontext.nodes.history.exchange import Exchange, open_exchange
from polycontext.nodes.history.parts import ConversationPart, conversation_parts, visible_conversation
from polycontext.nodes.history.printing import format_conversation_for_prompt
from polycontext.nodes.history.reading import ANSWER_TOKENS, RemembersConversation, exchange_under_way, get_conversation_history
from polycontext.nodes.history.turns import ConversationHistory, ConversationTurn, PendingKind, PendingState

__all__ = [
    "ANSWER_TOKENS",
    "DEPTHS",
    "ConversationHistory",
    "ConversationPart",
    "ConversationTurn",
    "Depth",
    "Exchange",
    "InvalidRecordError",
    "PendingKind",
    "PendingState",
    "RemembersConversation",
    "UnknownDepthError",
    "condense",
    "conversation_parts",
    "exchange_under_way",
    "format_conversation_for_prompt",
    "get_conversation_history",
    "open_exchange",
    "visible_conversation",
]
