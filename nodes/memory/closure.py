"""Close an exchange: what happened in it becomes what is remembered (docs/memory.md)."""

from attrs import define, evolve

from polycontext.linearity import CallerError
from polycontext.polynomial import ContextOutput
from polycontext.pressure import ContextProjector
from polycontext.window import TokenCounter

from ..history import open_exchange
from ..prompt_text import one_line
from ..reasoning import TurnCuration, TurnExecutionSummary
from .conversation import ConversationContext
from .current_exchange import CurrentTurn

TURN_SUMMARIES = 2
DECISIONS = 10


@define(slots=False, eq=False)
class ClosedTurnError(CallerError, ValueError):
    """Refuse to close an exchange that is not newer than the last closed one."""

    turn_num: int
    last_closed: int

    def __str__(self) -> str:
        return f"turn {self.turn_num} cannot be closed after turn {self.last_closed}; legal: a turn from {self.last_closed + 1}"


def summarize(turn: CurrentTurn) -> TurnExecutionSummary:
    """Build the summary of an exchange (docs/memory.md).

    A step's outcome is the model's own word, else a count.

    >>> summarize(CurrentTurn(2).step("read", "recipes", "Find soups", [{}, {}])).steps[0].outcome
    'read 2 recipes'
    """
    return turn.summary


def close_turn(
    conversation: ConversationContext,
    turn: CurrentTurn,
    output: ContextOutput,
    *,
    engagement: str = "",
    projector: ContextProjector | None = None,
) -> ConversationContext:
    """Return what is remembered after `turn`, whose exchange is the last of the machine's `output`.

    What was said joins the recent exchanges and the summary the last ones; the oldest of
    both move to their digests. What waits for the user is set, or cleared. Results
    go to the archive under ``turn_<turn>_step_<step>``. A blocked exchange is closed like any other, its reason kept.
    `engagement` states the theme in somebody's own words; `projector` compresses the digests.

    Raises:
        ClosedTurnError: the exchange is not newer than the last closed one.
    """
    if conversation.turn_summaries and turn.turn_num <= conversation.turn_summaries[-1].turn_num:
        raise ClosedTurnError(turn.turn_num, conversation.turn_summaries[-1].turn_num)
    summary = summarize(turn)
    counter = output.window.counter
    found = open_exchange(output.window, conversation.closed_id, conversation.closed_at)
    remembered = conversation if found is None else conversation.after(found, routing=turn.routing, counter=counter, projector=projector)
    remembered = _with_summary(remembered, summary, counter, projector)
    remembered = evolve(remembered, engagement=conversation.engagement.after(summary, engagement, counter=counter), pending=turn.pending)
    for step in turn.steps:
        if step.result is not None:
            remembered = remembered.archive(f"turn_{turn.turn_num}_step_{step.step_num}", step.result)
    return remembered


def _with_summary(
    conversation: ConversationContext, summary: TurnExecutionSummary, counter: TokenCounter, projector: ContextProjector | None
) -> ConversationContext:
    summaries = (*conversation.turn_summaries, summary)
    decided = () if summary.entity_curation.is_empty else (TurnCuration(summary.turn_num, summary.entity_curation),)
    return evolve(
        conversation,
        turn_summaries=summaries[-TURN_SUMMARIES:],
        reasoning=conversation.reasoning.extended(map(_summary_line, summaries[:-TURN_SUMMARIES]), counter=counter, projector=projector),
        understand_decision_log=(*conversation.understand_decision_log, *decided)[-DECISIONS:],
    )


def _summary_line(summary: TurnExecutionSummary) -> str:
    decided = f" ({summary.think_decision})" if summary.think_decision else ""
    expressed = f"the user expressed: {summary.user_expressed}" if summary.user_expressed else ""
    blocked = "" if summary.blocked_reason is None else f"blocked: {summary.blocked_reason}"
    facts = (summary.think_goal, *(step.outcome for step in summary.steps), expressed, blocked)
    return f"Turn {summary.turn_num}{decided}: {'; '.join(one_line(fact) for fact in facts if fact.strip())}"
