"""The exchange under way: what the nodes decide and do until it is closed (docs/nodes.md)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, field, fields, frozen
from attrs.validators import optional

from polycontext.base.json_data import check_text, freeze
from polycontext.window import TokenCounter

from ..checks import is_a, is_text, whole_from
from ..condensation import condense
from ..entities.names import singular
from ..history import ANSWER_TOKENS, ConversationTurn, PendingState, routing_or_none
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
from .conversation import ConversationContext

_DONE = {
    StepKind.READ: "read",
    StepKind.ANALYZE: "analyzed",
    StepKind.GENERATE: "generated",
    StepKind.WRITE: "wrote",
}


def generic_outcome(
    kind: StepKind, subdomain: str, result: Any = None, entities_involved: Sequence[str] = ()
) -> str:
    """Return a step's outcome as a count: of its result's items, or of the refs it touched.

    See docs/nodes.md.

    >>> generic_outcome(StepKind.READ, "recipes", [{"name": "soup"}] * 5)
    'read 5 recipes'
    >>> generic_outcome(StepKind.WRITE, "recipes", {"saved": True}, ["recipe_1"])
    'wrote 1 recipe'
    >>> generic_outcome(StepKind.ANALYZE, "recipes")
    'analyzed recipes'
    """
    # In Python a text is a sequence too, of its letters.
    if isinstance(result, Sequence) and not isinstance(result, str):
        count = len(result)
    elif not (count := len(entities_involved) or int(isinstance(result, Mapping))):
        return f"{_DONE[kind]} {subdomain}"
    return f"{_DONE[kind]} {count} {singular(subdomain) if count == 1 else subdomain}"


REASON_TOKENS = 300
"""The most tokens of the reason why an exchange was blocked."""


def _result(value: Any) -> Any:
    return freeze(value, "result")


@frozen
class StepResult(StepSummary):
    """A step with its full result, immutable JSON data, for later steps of the same exchange.

    Raises:
        InvalidDataError: The result is not JSON data, or as for `StepSummary`.
    """

    result: Any = field(default=None, converter=_result, hash=False)

    @property
    def summary(self) -> StepSummary:
        """Return the step without its result, with a count as outcome if the model gave none."""
        data: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(StepSummary)}
        data["outcome"] = self.outcome or generic_outcome(
            self.type, self.subdomain, self.result, self.entities_involved
        )
        return StepSummary(**data)


@frozen
class CurrentTurn:
    """The exchange under way; each method returns a copy with one addition.

    Raises:
        InvalidDataError: An unknown kind, text that cannot be stored, or a result that is not JSON
            data.

    >>> turn = CurrentTurn(3).decide("plan_direct", "Find a soup")
    >>> turn = turn.step(
    ...     "read", "recipes", "Find soups", [{"name": "Minestrone"}], note="it is vegan"
    ... )
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
        """Return a copy with a router's decision as JSON data."""
        return evolve(self, routing=routing)

    def curate(
        self,
        retained: Iterable[str] = (),
        demoted: Iterable[str] = (),
        reasons: Mapping[str, str] | None = None,
    ) -> "CurrentTurn":
        """Return a copy with Understand's decisions about entities.

        A later decision about a ref replaces the earlier one.
        """
        return evolve(
            self, curation=self.curation.then(CurationSummary(retained, demoted, reasons or {}))
        )

    def observe(
        self, *, phase: ConversationPhase | str | None = None, user_expressed: str | None = None
    ) -> "CurrentTurn":
        """Return a copy with the user's phase and what the user expressed; None changes nothing."""
        return evolve(
            self,
            phase=self.phase if phase is None else phase,
            user_expressed=self.user_expressed if user_expressed is None else user_expressed,
        )

    def decide(self, decision: ThinkDecision | str, goal: str = "") -> "CurrentTurn":
        """Return a copy with Think's decision."""
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
        """Return a copy with one more step, numbered from 1.

        `outcome` is the model's own summary of the result; `note` is Act's note for the next step.
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
        """Return a copy that is blocked for this reason, cut to 300 tokens.

        The reason is short because nodes read it verbatim.
        """
        return evolve(
            self, blocked_reason=condense(check_text(reason, "blocked_reason"), REASON_TOKENS)
        )

    def expects(self, pending: PendingState | None) -> "CurrentTurn":
        """Return a copy that ends on something that awaits the user's answer."""
        return evolve(self, pending=pending)

    @property
    def prev_step_note(self) -> str | None:
        """Return Act's note on the last step for the next one (docs/nodes.md)."""
        return self.steps[-1].note if self.steps else None

    @property
    def summary(self) -> TurnExecutionSummary:
        """Return a summary of the exchange so far, without full results."""
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


RECENT_TURNS = 5
TURN_SUMMARIES = 2
DECISIONS = 10
USER_TOKENS = 300
"""The most tokens of the user's text in a closed exchange."""
SUMMARY_CHARACTERS = 2400
"""The most characters of the lines on earlier exchanges, behind the summary of a model."""


def close_exchange(
    conversation: ConversationContext,
    turn: CurrentTurn,
    said: ConversationTurn | None,
    *,
    counter: TokenCounter | None = None,
) -> ConversationContext:
    """Return the memory after `turn`, in which `said` was said (docs/nodes.md).

    The exchange is condensed and joins the recent ones, and its summary the last summaries; the
    oldest of both join the summaries of earlier ones. Results are archived under
    ``turn_<turn>_step_<step>``. A blocked exchange is closed like any other and keeps its reason.
    """
    summary, decided = turn.summary, turn.curation
    turns, summaries = conversation.recent_turns, (*conversation.turn_summaries, summary)
    if said is not None:
        user = condense(said.user, USER_TOKENS, counter=counter)
        answer = condense(said.assistant_summary, ANSWER_TOKENS, counter=counter)
        turns = (*turns, ConversationTurn(user, answer, turn.routing, said.timestamp))
    decisions = [] if decided.is_empty else [TurnCuration(turn.turn_num, decided)]
    log = (*conversation.understand_decision_log, *decisions)
    archive = conversation.content_archive
    for step in turn.steps:
        if step.result is not None:
            archive = archive.put(f"turn_{turn.turn_num}_step_{step.step_num}", step.result)
    return evolve(
        conversation,
        recent_turns=turns[-RECENT_TURNS:],
        history_summary=_with_lines(
            conversation.history_summary, (each.lines for each in turns[:-RECENT_TURNS])
        ),
        engagement=conversation.engagement.after(summary, counter=counter),
        pending=turn.pending,
        turn_summaries=summaries[-TURN_SUMMARIES:],
        reasoning_summary=_with_lines(
            conversation.reasoning_summary, map(_summary_line, summaries[:-TURN_SUMMARIES])
        ),
        content_archive=archive,
        understand_decision_log=log[-DECISIONS:],
    )


def _with_lines(text: str, more: Iterable[str]) -> str:
    """Return a summary with more lines, without its oldest ones if it has become long."""
    lines = [line[:SUMMARY_CHARACTERS] for line in (*text.splitlines(), *more) if line]
    while len(lines) > 1 and sum(map(len, lines)) > SUMMARY_CHARACTERS:
        del lines[0]
    return "\n".join(lines)


def _summary_line(summary: TurnExecutionSummary) -> str:
    decided = f" ({summary.think_decision})" if summary.think_decision else ""
    expressed = f"the user expressed: {summary.user_expressed}" if summary.user_expressed else ""
    blocked = "" if summary.blocked_reason is None else f"blocked: {summary.blocked_reason}"
    facts = (summary.think_goal, *(step.outcome for step in summary.steps), expressed, blocked)
    return (
        f"Turn {summary.turn_num}{decided}: "
        f"{'; '.join(one_line(fact) for fact in facts if fact.strip())}"
    )
