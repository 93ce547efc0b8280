"""The exchange under way: what the nodes decide and do, until it is closed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen
from attrs.validators import optional

from polycontext.linearity.json_data import check_text, freeze

from ..checks import is_a, is_text, whole_from
from ..condensation import condense
from ..entities.names import singular
from ..history import PendingState
from ..history.exchanges import routing_or_none
from ..reasoning import (
    ConversationPhase,
    CurationSummary,
    StepKind,
    StepSummary,
    ThinkDecision,
    TurnExecutionSummary,
)
from ..reasoning.summaries import decision_or_none, phase_or_none
from .codec import Stored

_DONE = {StepKind.READ: "read", StepKind.ANALYZE: "analyzed", StepKind.GENERATE: "generated", StepKind.WRITE: "wrote"}


def generic_outcome(kind: StepKind, subdomain: str, result: Any = None, entities_involved: Sequence[str] = ()) -> str:
    """Return the outcome of a step as a count (docs/memory.md); of its result's items, else of the refs it touched.

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
        """Return the step without its result; where the model gave no outcome, a count stands for it."""
        outcome = self.outcome or generic_outcome(self.type, self.subdomain, self.result, self.entities_involved)
        return StepSummary(self.step_num, self.type, self.subdomain, self.description, outcome, self.entities_involved, self.note)


@frozen
class CurrentTurn(Stored):
    """Hold what is known of the exchange under way; each method returns the exchange with one thing more.

    Raises:
        InvalidDataError: an unknown kind, text that cannot be stored, a result that is no JSON data.

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

    def curate(self, retained: Iterable[str] = (), demoted: Iterable[str] = (), reasons: Mapping[str, str] | None = None) -> "CurrentTurn":
        """Return the exchange with what Understand decided about entities; a later decision about a ref replaces the earlier."""
        return evolve(self, curation=self.curation.then(CurationSummary(retained, demoted, reasons or {})))

    def observe(self, *, phase: ConversationPhase | str | None = None, user_expressed: str | None = None) -> "CurrentTurn":
        """Return the exchange with how far the user has come, and what the user expressed; None leaves as it is."""
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
        made = StepResult(len(self.steps) + 1, type, subdomain, description, outcome, entities_involved, note, result)
        return evolve(self, steps=(*self.steps, made))

    def block(self, reason: str) -> "CurrentTurn":
        """Return the exchange that cannot be completed, and why, in at most 300 tokens: every node has to read it word for word."""
        return evolve(self, blocked_reason=condense(check_text(reason, "blocked_reason"), REASON_TOKENS))

    def expects(self, pending: PendingState | None) -> "CurrentTurn":
        """Return the exchange that ends on something that waits for the user's answer."""
        return evolve(self, pending=pending)

    @property
    def prev_step_note(self) -> str | None:
        """Return Act's note of the last step for the next one (docs/memory.md)."""
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
