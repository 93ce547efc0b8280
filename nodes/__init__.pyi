from . import endings, fates, inspection
from .builders import (
    NodeContext,
    Now,
    build_act_context,
    build_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
    get_conversation_history,
    get_reasoning_trace,
)
from .entities import SessionIdRegistry, format_entity_context, get_entity_context
from .history import PendingState, exchange_of, format_conversation_for_prompt
from .memory import ConversationContext, CurrentTurn
from .memory.current_exchange import close_exchange
from .prompt_text import quote
from .prompts import PromptBuilder
from .props import ChatProps
from .props.component_renderer import ComponentRenderer
from .reasoning import (
    ConversationPhase,
    StepKind,
    ThinkDecision,
    format_reasoning_for_prompt,
)
from .waffles import Portion, Waffle, waffle

__all__ = [
    "ChatProps",
    "ComponentRenderer",
    "ConversationContext",
    "ConversationPhase",
    "CurrentTurn",
    "NodeContext",
    "Now",
    "PendingState",
    "Portion",
    "PromptBuilder",
    "SessionIdRegistry",
    "StepKind",
    "ThinkDecision",
    "Waffle",
    "build_act_context",
    "build_context",
    "build_reply_context",
    "build_think_context",
    "build_understand_context",
    "close_exchange",
    "endings",
    "exchange_of",
    "fates",
    "format_conversation_for_prompt",
    "format_entity_context",
    "format_reasoning_for_prompt",
    "get_conversation_history",
    "get_entity_context",
    "get_reasoning_trace",
    "inspection",
    "quote",
    "waffle",
]
