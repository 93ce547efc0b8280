"""Layer 3: what was decided and done, exchange by exchange (seed 003)."""

from polycontext.nodes.checks import InvalidRecordError
from polycontext.nodes.reasoning.printing import (
    NODE_PARTS,
    ReasoningNode,
    ReasoningPart,
    UnknownNodeError,
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
    "InvalidRecordError",
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
    "UnknownNodeError",
    "format_reasoning_for_prompt",
    "get_reasoning_trace",
    "reasoning_parts",
    "visible_reasoning",
]
