"""Metrics that the store counts: tokens and cost of model calls, time and outcome of runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from polycontext.base import InvalidDataError

from .kinds import Amount, Count
from .record_base import Record, record, with_changes
from .records import AgentContext, AgentMetrics, LLMDecision, LLMUsage, PerformanceData

_PROMPT = (
    ("prompt_tokens",),
    ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
)
_COMPLETION = (("completion_tokens",), ("output_tokens",))
_LONGEST_TEXT = 200
_MOST_DECISIONS = 500
"""Every call adds a decision, so their number and the length of their texts are limited."""


@record
class ModelCall(Record):
    """A call of a model: the model, its tokens, its price in US dollars, and why it was chosen."""

    model: str = ""
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cost_usd: Amount = 0.0
    task_type: str = ""
    reason: str = ""
    complexity: str = ""

    @classmethod
    def of(cls, response: Any, **details: Any) -> Self:
        """Return the call that a provider's response reports.

        `response` is an object or a dict with `usage`; `details` are fields that it does not
        report. The names of OpenAI (``prompt_tokens``, ``completion_tokens``) and of Anthropic
        (``input_tokens``, ``output_tokens``, and tokens written to or read from its cache) are
        read.

        Raises:
            InvalidDataError: there is no usage, or a number is not one.

        >>> ModelCall.of(
        ...     {"model": "small", "usage": {"input_tokens": 10, "output_tokens": 2}}, cost_usd=0.01
        ... )
        ModelCall(model='small', prompt_tokens=10, completion_tokens=2, cost_usd=0.01, \
task_type='', reason='', complexity='')
        """
        usage = _get(response, "usage")
        if usage is None:
            raise InvalidDataError(
                "usage",
                f"{type(response).__name__} tells none",
                "a response with usage, or a ModelCall with the numbers",
            )
        read = {
            "prompt_tokens": _total(usage, _PROMPT),
            "completion_tokens": _total(usage, _COMPLETION),
            "model": _get(response, "model") or "",
        }
        return cls.from_json({**read, **details})


def _get(data: Any, name: str) -> Any:
    return data.get(name) if isinstance(data, Mapping) else getattr(data, name, None)


def _total(usage: Any, spellings: Sequence[Sequence[str]]) -> Any:
    counts = [
        [number for name in names if (number := _get(usage, name)) is not None]
        for names in spellings
    ]
    # A response with both spellings reports the same tokens twice.
    found = next(filter(None, counts), [])
    # Pass on a value that is not a number, so that the record reports it.
    odd = [number for number in found if type(number) is not int]
    return odd[0] if odd else sum(found)


def with_calls(
    context: AgentContext, agent: str, calls: Sequence[ModelCall], when: datetime
) -> AgentContext:
    """Return the context with an agent's calls in `llm.usage` and `llm.decisions`.

    Only the newest five hundred decisions are kept.
    """
    if not calls:
        return context
    usage = context.llm.usage or LLMUsage()
    prompt, completion, cost = _sums(calls)
    usage = with_changes(
        usage,
        total_tokens=usage.total_tokens + prompt + completion,
        prompt_tokens=usage.prompt_tokens + prompt,
        completion_tokens=usage.completion_tokens + completion,
        cost_usd=usage.cost_usd + cost,
        by_agent={**usage.by_agent, agent: usage.by_agent.get(agent, 0.0) + cost},
    )
    decisions = (*context.llm.decisions, *(_decision(call, agent, when) for call in calls))
    return with_changes(
        context, llm=with_changes(context.llm, usage=usage, decisions=decisions[-_MOST_DECISIONS:])
    )


def _sums(calls: Sequence[ModelCall]) -> tuple[int, int, float]:
    return (
        sum(call.prompt_tokens for call in calls),
        sum(call.completion_tokens for call in calls),
        sum(call.cost_usd for call in calls),
    )


def _decision(call: ModelCall, agent: str, when: datetime) -> LLMDecision:
    texts = (call.task_type, call.model, call.reason, call.complexity)
    return LLMDecision(when, agent, *(text[:_LONGEST_TEXT] for text in texts))


def with_run(
    context: AgentContext, agent: str, status: str, milliseconds: int, calls: Sequence[ModelCall]
) -> AgentContext:
    """Return the context with an agent's run in `diagnostics.performance`.

    It adds the duration, the usage and the outcome of the run.
    """
    found = context.diagnostics.performance or PerformanceData()
    one = found.agent_metrics.get(agent, AgentMetrics())
    prompt, completion, cost = _sums(calls)
    used = (
        {"tokens": (one.tokens or 0) + prompt + completion, "cost": (one.cost or 0.0) + cost}
        if calls
        else {}
    )
    one = with_changes(
        one,
        duration_ms=one.duration_ms + milliseconds,
        llm_calls=one.llm_calls + len(calls),
        status=status,
        **used,
    )
    performance = with_changes(
        found,
        total_duration_ms=found.total_duration_ms + milliseconds,
        agent_metrics={**found.agent_metrics, agent: one},
    )
    return with_changes(
        context, diagnostics=with_changes(context.diagnostics, performance=performance)
    )
