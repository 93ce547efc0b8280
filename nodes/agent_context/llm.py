"""The namespace of the models: who answers, what it cost, why it was chosen (seed 002 §5)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen

from polycontext.linearity import UNIX_EPOCH
from polycontext.nodes.agent_context._frozen import EMPTY
from polycontext.nodes.agent_context._record import Record, checked


@frozen(field_transformer=checked)
class LLMUsage(Record):
    """Hold tokens used and their price in US dollars, in all and by agent."""

    total_tokens: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    by_agent: Mapping[str, float] = EMPTY


@frozen(field_transformer=checked)
class LLMDecision(Record):
    """Hold which model was selected for an agent's task, and why."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    task_type: str = ""
    selected: str = ""
    reason: str = ""
    complexity: str = ""


@frozen(field_transformer=checked)
class LLMContext(Record):
    """Hold the current provider and model, their usage, the decisions, and the metadata of the response cache."""

    provider: str = ""
    model: str = ""
    usage: LLMUsage | None = None
    decisions: tuple[LLMDecision, ...] = ()
    cache: Mapping[str, Any] = EMPTY
