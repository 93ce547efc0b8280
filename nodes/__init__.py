"""Who reads it? The nodes of an agent, prompts for a model, props for a browser, the command line.

Each name is loaded when it is first asked for: whoever renders props loads no prompts, and nobody the command line.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
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
    from polycontext.nodes.models import ScriptedModel
    from polycontext.nodes.prompts import PromptBuilder
    from polycontext.nodes.props import ActionProps, ChatProps, ComponentRenderer, MessageProps, Status
    from polycontext.nodes.reasoning import format_reasoning_for_prompt, get_reasoning_trace
    from polycontext.nodes.sending import SentMessage, asend_message, send_message

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
    "SentMessage",
    "SessionIdRegistry",
    "Status",
    "asend_message",
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
    "send_message",
    "summarize",
]

# A second list of the same names, since type checkers read the one above and nothing runs it; a test keeps them alike.
__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "builders": [
            "NodeContext",
            "build_act_context",
            "build_context",
            "build_reply_context",
            "build_think_context",
            "build_understand_context",
        ],
        "entities": ["SessionIdRegistry", "format_entity_context", "get_entity_context"],
        "history": ["PendingState", "format_conversation_for_prompt", "get_conversation_history"],
        "memory": ["ConversationContext", "CurrentTurn", "close_turn", "summarize"],
        "models": ["ScriptedModel"],
        "prompts": ["PromptBuilder"],
        "props": ["ActionProps", "ChatProps", "ComponentRenderer", "MessageProps", "Status"],
        "reasoning": ["format_reasoning_for_prompt", "get_reasoning_trace"],
        "sending": ["SentMessage", "asend_message", "send_message"],
    },
)
