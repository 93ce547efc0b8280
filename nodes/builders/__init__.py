"""Node builders: the context that each node of an agent reads (docs/nodes.md)."""

from ..entities import EntityMode
from ..history import ConversationPart
from ..reasoning import ReasoningPart
from .budget import NodeBudgetError
from .builder import (
    NodeContext,
    build_act_context,
    build_act_entity_context,
    build_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
    get_conversation_with_engagement,
    get_current_curation,
    get_current_turn_steps,
    get_execution_outcomes,
    get_own_decision_history,
    get_recent_conversation,
)
from .declarations import ACT, DO_NOT_READ, NODES, REPLY, THINK, UNDERSTAND
from .node import Addition, Material, Node, Section

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
