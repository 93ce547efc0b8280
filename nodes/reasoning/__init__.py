"""Layer 3: what was decided and done, exchange by exchange (docs/memory.md)."""

from .summaries import (
    ConversationPhase,
    CurationSummary,
    ReasoningTrace,
    StepKind,
    StepSummary,
    ThinkDecision,
    TurnCuration,
    TurnExecutionSummary,
)
from .visibility import (
    NODE_PARTS,
    ReasoningNode,
    ReasoningPart,
    format_reasoning_for_prompt,
    get_reasoning_trace,
    reasoning_parts,
    visible_reasoning,
)

__all__ = [
    "NODE_PARTS",
    "ConversationPhase",
    "CurationSummary",
    "ReasoningNode",
    "ReasoningPart",
    "ReasoningTrace",
    "StepKind",
    "StepSummary",
    "ThinkDecision",
    "TurnCuration",
    "TurnExecutionSummary",
    "format_reasoning_for_prompt",
    "get_reasoning_trace",
    "reasoning_parts",
    "visible_reasoning",
]
