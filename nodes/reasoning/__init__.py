"""Layer 3: what was decided and done, exchange by exchange (seed 003)."""

from polycontext.nodes.reasoning.printing import (
    NODE_PARTS,
    ReasoningNode,
    ReasoningPart,
    format_reasoning_for_prompt,
    reasoning_parts,
    visible_reasoning,
)
from polycontext.nodes.reasoning.reading import RemembersReasoning, TurnUnderWay, get_reasoning_trace
from polycontext.nodes.reasoning.summaries import (
    ConversationPhase,
    CurationSummary,
    ReasoningTrace,
    StepKind,
    StepSummary,
    ThinkDecision,
    TurnCuration,
    TurnExecutionSummary,
)

__all__ = [
    "NODE_PARTS",
    "ConversationPhase",
    "CurationSummary",
    "ReasoningNode",
    "ReasoningPart",
    "ReasoningTrace",
    "RemembersReasoning",
    "StepKind",
    "StepSummary",
    "ThinkDecision",
    "TurnCuration",
    "TurnExecutionSummary",
    "TurnUnderWay",
    "format_reasoning_for_prompt",
    "get_reasoning_trace",
    "reasoning_parts",
    "visible_reasoning",
]
