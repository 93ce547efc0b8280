"""Layer 3: what was decided and done, turn by turn (seed 003)."""

from polycontext.nodes._values import InvalidRecordError
from polycontext.nodes.reasoning.outcome import generic_outcome
from polycontext.nodes.reasoning.parts import NODE_PARTS, ReasoningPart, reasoning_parts, visible_reasoning
from polycontext.nodes.reasoning.printing import ReasoningNode, UnknownNodeError, format_reasoning_for_prompt
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
    "generic_outcome",
    "get_reasoning_trace",
    "reasoning_parts",
    "visible_reasoning",
]
