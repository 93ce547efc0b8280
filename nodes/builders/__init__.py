"""The node builders: what each node of an agent gets to read (docs/nodes.md)."""

from polycontext.nodes.builders.build import (
    NodeContext,
    build_act_context,
    build_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
)
from polycontext.nodes.builders.declarations import ACT, DO_NOT_READ, NODES, REPLY, THINK, UNDERSTAND
from polycontext.nodes.builders.fit import NodeBudgetError
from polycontext.nodes.builders.layers import (
    build_act_entity_context,
    get_conversation_with_engagement,
    get_current_curation,
    get_current_turn_steps,
    get_execution_outcomes,
    get_own_decision_history,
    get_recent_conversation,
)
from polycontext.nodes.builders.node import Addition, Material, Node, Section
from polycontext.nodes.entities import EntityMode
from polycontext.nodes.history import ConversationPart
from polycontext.nodes.reasoning import ReasoningPart

__all__ = [
    "ACT",
    "DO_NOT_READ",
    "NODES",
    "REPLY",
    "THINK",
    "UNDERSTAND",
    "Addition",
    "ConversationPart",
    "EntityMode",
    "Material",
    "Node",
    "NodeBudgetError",
    "NodeContext",
    "ReasoningPart",
    "Section",
    "build_act_context",
    "build_act_entity_context",
    "build_context",
    "build_reply_context",
    "build_think_context",
    "build_understand_context",
    "get_conversation_with_engagement",
    "get_current_curation",
    "get_current_turn_steps",
    "get_execution_outcomes",
    "get_own_decision_history",
    "get_recent_conversation",
]
