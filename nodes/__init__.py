"""Who reads it? The nodes of an agent, prompts for a model, props for a browser, the command line."""

from polycontext.nodes.builders import (
    NodeContext,
    build_act_context,
    build_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
)
from polycontext.nodes.entities import SessionIdRegistry
from polycontext.nodes.memory import ConversationContext, CurrentTurn, close_turn, summarize
from polycontext.nodes.prompts import PromptBuilder
from polycontext.nodes.props import ActionProps, ChatProps, ComponentRenderer, MessageProps, Status
from polycontext.nodes.scripted_model import ScriptedModel

__all__ = [
    "ActionProps",
    "ChatProps",
    "ComponentRenderer",
    "ConversationContext",
    "CurrentTurn",
    "MessageProps",
    "NodeContext",
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
    "summarize",
]
