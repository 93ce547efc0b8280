"""Who reads it? The nodes of an agent, prompts for a model, props for a browser, the command line."""

from polycontext.nodes.builders import (
    NodeContext,
    build_act_context,
    build_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
)
from polycontext.nodes.entities import SessionIdRegistry, format_entity_context, get_entity_context
from polycontext.nodes.history import PendingState, format_conversation_for_prompt, get_conversation_history
from polycontext.nodes.memory import ConversationContext, CurrentTurn, close_turn, summarize
from polycontext.nodes.models.scripted_model import ScriptedModel
from polycontext.nodes.prompts import PromptBuilder
from polycontext.nodes.props.component_renderer import ActionProps, ChatProps, ComponentRenderer, MessageProps, Status
from polycontext.nodes.reasoning import format_reasoning_for_prompt, get_reasoning_trace

__all__ = [
    "ActionProps",
    "ChatProps",
    "ComponentRenderer",
    "ConversationContext",
    "CurrentTurn",
    "MessageProps",
    "NodeContext",
    "PendingState",
    "PromptBuilder",
    "ScriptedModel",
    "SessionIdRegistry",
    "Status",
    "build_act_context",
    "build_context",
    "build_reply_context",
    "build_think_context",
    "build_understand_context",
    "close_turn",
    "format_conversation_for_prompt",
    "format_entity_context",
    "format_reasoning_for_prompt",
    "get_conversation_history",
    "get_entity_context",
    "get_reasoning_trace",
    "summarize",
]
