"""The records of layer 3: what was decided, done, kept and said in one exchange (docs/memory.md)."""

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen
from attrs.validators import optional

from polycontext.linearity.json_data import FrozenDict, check_text, freeze_object

from ..checks import are_texts, chosen, is_text, texts, whole_from


class StepKind(StrEnum):
    """Say what a step does."""

    READ = "read"
    ANALYZE = "analyze"
    GENERATE = "generate"
    WRITE = "write"


class ThinkDecision(StrEnum):
    """Say how Think goes on."""

    PLAN_DIRECT = "plan_direct"
    PROPOSE = "propose"
    CLARIFY = "clarify"


class ConversationPhase(StrEnum):
    """Say how far the user has come."""

    EXPLORING = "exploring"
    NARROWING = "narrowing"
    CONFIRMING = "confirming"


def step_kind(value: StepKind | str) -> StepKind:
    """Convert the name of a kind of step."""
    return chosen(StepKind, "type", value)


def decision_or_none(value: ThinkDecision | str | None) -> ThinkDecision | None:
    """Convert the name of a decision, where there is one."""
    return None if value is None else chosen(ThinkDecision, "think_decision", value)


def phase_or_none(value: ConversationPhase | str | None) -> ConversationPhase | None:
    """Convert the name of a phase, where there is one."""
    return None if value is None else chosen(ConversationPhase, "conversation_phase", value)


@frozen
class StepSummary:
    """Hold one step: what was planned, what came out, which refs it touched, and Act's note for the next step.

    Raises:
        InvalidDataError: an unknown kind, a number below its least, text that cannot be stored.
    """

    step_num: int = field(validator=whole_from(1))
    type: StepKind = field(converter=step_kind)
    subdomain: str = field(validator=is_text)
    description: str = field(validator=is_text)
    outcome: str = field(default="", validator=is_text)
    entities_involved: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    note: str | None = field(default=None, validator=optional(is_text))


def _reasons(value: Mapping[str, str]) -> FrozenDict[str]:
    reasons: FrozenDict[str] = freeze_object(value, "reasons")
    for ref, reason in reasons.items():
        check_text(reason, f"reasons.{ref}")
    return reasons


@frozen
class CurationSummary:
    """Hold what Understand decided about entities in one exchange: refs retained, refs demoted, and why.

    >>> CurationSummary(retained=["recipe_1"], reasons={"recipe_1": "the user likes it"}).is_empty
    False
    """

    retained: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    demoted: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    reasons: Mapping[str, str] = field(factory=dict, converter=_reasons, hash=False)

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was decided."""
        return not (self.retained or self.demoted)

    def then(self, later: "CurationSummary") -> "CurationSummary":
        """Return both decisions as one; what `later` says of a ref replaces what was said before.

        Laws: associative; the empty decision changes nothing.
        """
        settled = {*later.retained, *later.demoted}
        return CurationSummary(
            retained=(*(ref for ref in self.retained if ref not in settled), *later.retained),
            demoted=(*(ref for ref in self.demoted if ref not in settled), *later.demoted),
            reasons={ref: reason for ref, reason in self.reasons.items() if ref not in settled} | dict(later.reasons),
        )


@frozen
class TurnCuration:
    """Hold one entry of Understand's own decision log: the exchange, and what was decided in it."""

    turn_num: int = field(validator=whole_from(0))
    curation: CurationSummary


@frozen
class TurnExecutionSummary:
    """Hold what happened in one exchange (docs/memory.md).

    `think_decision` and `conversation_phase` are None where the exchange was blocked before
    they were known; `blocked_reason` is None where it was not blocked.

    Raises:
        InvalidDataError: an unknown decision or phase, a number below its least, text that cannot be stored.
    """

    turn_num: int = field(validator=whole_from(0))
    think_decision: ThinkDecision | None = field(default=None, converter=decision_or_none)
    think_goal: str = field(default="", validator=is_text)
    steps: tuple[StepSummary, ...] = field(default=(), converter=tuple[StepSummary, ...])
    entity_curation: CurationSummary = field(factory=CurationSummary)
    conversation_phase: ConversationPhase | None = field(default=None, converter=phase_or_none)
    user_expressed: str = field(default="", validator=is_text)
    blocked_reason: str | None = field(default=None, validator=optional(is_text))


@frozen
class ReasoningTrace:
    """Hold layer 3 as a node reads it: the last exchanges, the reasoning before them, and the exchange under way.

    `curation_log` is Understand's own decision history, oldest first.
    """

    recent_summaries: tuple[TurnExecutionSummary, ...] = field(default=(), converter=tuple[TurnExecutionSummary, ...])
    reasoning_summary: str = ""
    current: TurnExecutionSummary | None = None
    curation_log: tuple[TurnCuration, ...] = field(default=(), converter=tuple[TurnCuration, ...])

    @property
    def turns(self) -> tuple[TurnExecutionSummary, ...]:
        """Return the recent exchanges and the one under way, oldest first."""
        return self.recent_summaries if self.current is None else (*self.recent_summaries, self.current)

    @property
    def phase(self) -> ConversationPhase | None:
        """Return the newest phase that is known."""
        return next((turn.conversation_phase for turn in reversed(self.turns) if turn.conversation_phase), None)

    @property
    def user_expressed(self) -> str:
        """Return what the user expressed last."""
        return next((turn.user_expressed for turn in reversed(self.turns) if turn.user_expressed), "")
