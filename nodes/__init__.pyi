from . import endings, fates, history, inspection, reasoning, waffles
from .builders.builder import (
    build_act_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
    get_conversation_history,
    get_reasoning_trace,
)
from .builders.node import Now
from .entities.presentation import format_entity_context
from .entities.registry import SessionIdRegistry, get_entity_context
from .history import PendingState, format_conversation_for_prompt
from .memory.conversation import ConversationContext
from .prompt_text import quote
from .prompts.builder import PromptBuilder
from .props.component_renderer import ComponentRenderer
from .reasoning import format_reasoning_for_prompt

__all__ = [
    "ComponentRenderer",
    "ConversationContext",
    "Now",
    "PendingState",
    "PromptBuilder",
    "SessionIdRegistry",
    "build_act_context",
    "build_reply_context",
    "build_think_context",
    "build_understand_context",
    "endings",
    "fates",
    "format_conversation_for_prompt",
    "format_entity_context",
    "format_reasoning_for_prompt",
    "get_conversation_history",
    "get_entity_context",
    "get_reasoning_trace",
    "history",
    "inspection",
    "quote",
    "reasoning",
    "waffles",
]
