"""The exchange under way: what the nodes decide and do, until it is closed and becomes what is remembered (docs/nodes.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, fields, frozen
from attrs.validators import optional

from polycontext.linearity import CallerError
from polycontext.linearity.json_data import check_text, freeze
from polycontext.polynomial import ContextOutput
from polycontext.pressure import ContextProjector
from polycontext.window import TokenCounter

from ..checks import is_a, is_text, whole_from
from ..condensation import condense
from ..entities.names import singular
from ..history import PendingState, open_exchange, routing_or_none
from ..prompt_text import one_line
from ..reasoning import (
    ConversationPhase,
    CurationSummary,
    StepKind,
    StepSummary,
    ThinkDecision,
    TurnCuration,
    TurnExecutionSummary,
    decision_or_none,
    phase_or_none,
)
from .conversation import ConversationContext, Storable

_DONE = {
    StepKind.READ: "read",
    StepKind.ANALYZE: "analyzed",
    StepKind.GENERATE: "generated",
    StepKind.WRITE: "wrote",
}


def generic_outcome(
    kind: StepKind, subdomain: str, result: Any = None, entities_involved: Sequence[str] = ()
) -> str:
    """Return the outcome of a step as a count (docs/nodes.md).

    Of its result's items, else of the refs it touched.

    >>> generic_outcome(StepKind.READ, "recipes", [{"name": "soup"}] * 5)
    'read 5 recipes'
    >>> generic_outcome(StepKind.WRITE, "recipes", {"saved": True}, ["recipe_1"])
    'wrote 1 recipe'
    >>> generic_outcome(StepKind.ANALYZE, "recipes")
    'analyzed recipes'
    """
    # A text is a sequence to Python, of letters.
    if isinstance(result, Sequence) and not isinstance(result, str):
        count = len(result)
    elif not (count := len(entities_involved) or int(isinstance(result, Mapping))):
        return f"{_DONE[kind]} {subdomain}"
    return f"{_DONE[kind]} {count} {singular(subdomain) if count == 1 else subdomain}"


REASON_TOKENS = 300
"""How many tokens of why an exchange was blocked are kept."""


def _result(value: Any) -> Any:
    return freeze(value, "result")


@frozen
class StepResult(StepSummary):
    """Hold one step with its full result, immutable JSON data, for the steps that follow in the same exchange.

    Raises:
        InvalidDataError: a result that is no JSON data, or as for `StepSummary`.
    """

    result: Any = field(default=None, converter=_result, hash=False)

    @property
    def summary(self) -> StepSummary:
        """Return the step without its result.

        Where the model gave no outcome, a count stands for it.
        """
        data: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(StepSummary)}
        data["outcome"] = self.outcome or generic_outcome(
            self.type, self.subdomain, self.result, self.entities_involved
        )
        return StepSummary(**data)


@frozen
class CurrentTurn(Storable):
    """Hold what is known of the exchange under way.

    Each method returns the exchange with one thing more.

    Raises:
        InvalidDataError: an unknown kind, text that cannot be stored, a result that is no JSON
            data.

    >>> turn = CurrentTurn(3).decide("plan_direct", "Find a soup")
    >>> turn = turn.step("read", "recipes", "Find soups", [{"name": "Minestrone"}], note="it is vegan")
    >>> turn.prev_step_note, turn.summary.steps[0].outcome
    ('it is vegan', 'read 1 recipe')
    """

    turn_num: int = field(validator=whole_from(0))
    think_decision: ThinkDecision | None = field(default=None, converter=decision_or_none)
    think_goal: str = field(default="", validator=is_text)
    steps: tuple[StepResult, ...] = field(default=(), converter=tuple[StepResult, ...])
    curation: CurationSummary = field(factory=CurationSummary, validator=is_a(CurationSummary))
    phase: ConversationPhase | None = field(default=None, converter=phase_or_none)
    user_expressed: str = field(default="", validator=is_text)
    blocked_reason: str | None = field(default=None, validator=optional(is_text))
    pending: PendingState | None = field(default=None, validator=optional(is_a(PendingState)))
    routing: Mapping[str, Any] | None = field(default=None, converter=routing_or_none, hash=False)

    def route(self, routing: Mapping[str, Any]) -> "CurrentTurn":
        """Return the exchange with what a router decided, JSON data."""
        return evolve(self, routing=routing)

    def curate(
        self,
        retained: Iterable[str] = (),
        demoted: Iterable[str] = (),
        reasons: Mapping[str, str] | None = None,
    ) -> "CurrentTurn":
        """Return the exchange with what Understand decided about entities.

        A later decision about a ref replaces the earlier.
        """
        return evolve(
            self, curation=self.curation.then(CurationSummary(retained, demoted, reasons or {}))
        )

    def observe(
        self, *, phase: ConversationPhase | str | None = None, user_expressed: str | None = None
    ) -> "CurrentTurn":
        """Return the exchange with how far the user has come, and what the user expressed.

        None leaves as it is.
        """
        return evolve(
            self,
            phase=self.phase if phase is None else phase,
            user_expressed=self.user_expressed if user_expressed is None else user_expressed,
        )

    def decide(self, decision: ThinkDecision | str, goal: str = "") -> "CurrentTurn":
        """Return the exchange with what Think decided."""
        return evolve(self, think_decision=decision, think_goal=goal)

    def step(
        self,
        type: StepKind | str,
        subdomain: str,
        description: str,
        result: Any = None,
        *,
        outcome: str = "",
        entities_involved: Iterable[str] = (),
        note: str | None = None,
    ) -> "CurrentTurn":
        """Return the exchange with one step more, numbered from 1.

        `outcome` is the model's own word on the result, `note` Act's word for the next step.
        """
        made = StepResult(
            len(self.steps) + 1,
            type,
            subdomain,
            description,
            outcome,
            entities_involved,
            note,
            result,
        )
        return evolve(self, steps=(*self.steps, made))

    def block(self, reason: str) -> "CurrentTurn":
        """Return the exchange that cannot be completed, and why, in at most 300 tokens: every node has to read it word for word."""
        return evolve(
            self, blocked_reason=condense(check_text(reason, "blocked_reason"), REASON_TOKENS)
        )

    def expects(self, pending: PendingState | None) -> "CurrentTurn":
        """Return the exchange that ends on something that waits for the user's answer."""
        return evolve(self, pending=pending)

    @property
    def prev_step_note(self) -> str | None:
        """Return Act's note of the last step for the next one (docs/nodes.md)."""
        return self.steps[-1].note if self.steps else None

    @property
    def summary(self) -> TurnExecutionSummary:
        """Return what happened so far, without full results."""
        return TurnExecutionSummary(
            turn_num=self.turn_num,
            think_decision=self.think_decision,
            think_goal=self.think_goal,
            steps=tuple(step.summary for step in self.steps),
            entity_curation=self.curation,
            conversation_phase=self.phase,
            user_expressed=self.user_expressed,
            blocked_reason=self.blocked_reason,
        )


TURN_SUMMARIES = 2
DECISIONS = 10


@define(slots=False, eq=False)
class ClosedTurnError(CallerError, ValueError):
    """Refuse to close an exchange that is not newer than the last closed one."""

    turn_num: int
    last_closed: int

    def __str__(self) -> str:
        return f"turn {self.turn_num} cannot be closed after turn {self.last_closed}. Use a turn from {self.last_closed + 1}."


def summarize(turn: CurrentTurn) -> TurnExecutionSummary:
    """Build the summary of an exchange (docs/nodes.md).

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
    go to the archive under ``turn_<turn>_step_<step>``. A blocked exchange is closed like any
    other, its reason kept. `engagement` states the theme in somebody's own words; `projector`
    compresses the digests.

    Raises:
        ClosedTurnError: the exchange is not newer than the last closed one.
    """
    if conversation.turn_summaries and turn.turn_num <= conversation.turn_summaries[-1].turn_num:
        raise ClosedTurnError(turn.turn_num, conversation.turn_summaries[-1].turn_num)
    summary = summarize(turn)
    counter = output.window.counter
    found = open_exchange(output.window, conversation.closed_id, conversation.closed_at)
    remembered = conversation
    if found is not None:
        remembered = conversation.after(
            found, routing=turn.routing, counter=counter, projector=projector
        )
    remembered = evolve(
        _with_summary(remembered, summary, counter, projector),
        engagement=conversation.engagement.after(summary, engagement, counter=counter),
        pending=turn.pending,
    )
    for step in turn.steps:
        if step.result is not None:
            remembered = remembered.archive(
                f"turn_{turn.turn_num}_step_{step.step_num}", step.result
            )
    return remembered


def _with_summary(
    conversation: ConversationContext,
    summary: TurnExecutionSummary,
    counter: TokenCounter,
    projector: ContextProjector | None,
) -> ConversationContext:
    summaries = (*conversation.turn_summaries, summary)
    curation = summary.entity_curation
    decided = [] if curation.is_empty else [TurnCuration(summary.turn_num, curation)]
    return evolve(
        conversation,
        turn_summaries=summaries[-TURN_SUMMARIES:],
        reasoning=conversation.reasoning.add_all(
            map(_summary_line, summaries[:-TURN_SUMMARIES]), counter=counter, projector=projector
        ),
        understand_decision_log=(*conversation.understand_decision_log, *decided)[-DECISIONS:],
    )


def _summary_line(summary: TurnExecutionSummary) -> str:
    decided = f" ({summary.think_decision})" if summary.think_decision else ""
    expressed = f"the user expressed: {summary.user_expressed}" if summary.user_expressed else ""
    blocked = "" if summary.blocked_reason is None else f"blocked: {summary.blocked_reason}"
    facts = (summary.think_goal, *(step.outcome for step in summary.steps), expressed, blocked)
    return f"Turn {summary.turn_num}{decided}: {'; '.join(one_line(fact) for fact in facts if fact.strip())}"
