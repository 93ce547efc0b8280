"""Layer 3: decisions and actions by exchange, as each reader sees them (docs/nodes.md)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from attrs import evolve, field, frozen
from attrs.validators import optional

from polycontext.base import require
from polycontext.base.json_data import FrozenDict, check_text, freeze_object
from polycontext.linearity import ResourceClass
from polycontext.window import TokenCounter

from .checks import are_texts, is_text, parse_member, texts, whole_from
from .condensation import condense
from .prompt_text import Entry, Part, drop_empty, one_line, part, pin, quote_block, render_parts


class StepKind(StrEnum):
    """The kind of a step."""

    READ = "read"
    ANALYZE = "analyze"
    GENERATE = "generate"
    WRITE = "write"


class ThinkDecision(StrEnum):
    """Think's decision on how to continue."""

    PLAN_DIRECT = "plan_direct"
    PROPOSE = "propose"
    CLARIFY = "clarify"


class ConversationPhase(StrEnum):
    """The phase of the conversation: how far the user has come."""

    EXPLORING = "exploring"
    NARROWING = "narrowing"
    CONFIRMING = "confirming"


def step_kind(value: StepKind | str) -> StepKind:
    """Convert the name of a kind of step."""
    return parse_member(StepKind, "type", value)


def decision_or_none(value: ThinkDecision | str | None) -> ThinkDecision | None:
    """Convert the name of a decision, unless it is None."""
    return None if value is None else parse_member(ThinkDecision, "think_decision", value)


def phase_or_none(value: ConversationPhase | str | None) -> ConversationPhase | None:
    """Convert the name of a phase, unless it is None."""
    return None if value is None else parse_member(ConversationPhase, "conversation_phase", value)


@frozen
class StepSummary:
    """One step: its plan, its outcome, the refs it touched, and Act's note for the next step.

    Raises:
        InvalidDataError: an unknown kind, a number that is too small, text that cannot be stored.
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
    """Understand's decisions about entities in one exchange: refs retained and demoted, and why.

    >>> CurationSummary(retained=["recipe_1"], reasons={"recipe_1": "the user likes it"}).is_empty
    False
    """

    retained: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    demoted: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)
    reasons: Mapping[str, str] = field(factory=dict, converter=_reasons, hash=False)

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was decided."""
        return not (self.retained or self.demoted)

    def then(self, later: "CurationSummary") -> "CurationSummary":
        """Return both decisions as one; `later` replaces earlier decisions about the same ref.

        Laws: associative; the empty decision changes nothing.
        """
        settled = {*later.retained, *later.demoted}
        return CurationSummary(
            retained=(*(ref for ref in self.retained if ref not in settled), *later.retained),
            demoted=(*(ref for ref in self.demoted if ref not in settled), *later.demoted),
            reasons={ref: reason for ref, reason in self.reasons.items() if ref not in settled}
            | dict(later.reasons),
        )


@frozen
class TurnCuration:
    """An entry of Understand's own decision log: the exchange, and the decisions in it."""

    turn_num: int = field(validator=whole_from(0))
    curation: CurationSummary


@frozen
class TurnExecutionSummary:
    """The summary of one exchange (docs/nodes.md).

    A blocked exchange may have no decision or phase; `blocked_reason` is None in any other.

    Raises:
        InvalidDataError: an unknown decision or phase, a negative number, invalid text.
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
    """Layer 3 as a node reads it: the last exchanges, a summary of earlier ones, the current one.

    `curation_log` is Understand's own decision history, oldest first.
    """

    recent_summaries: tuple[TurnExecutionSummary, ...] = field(
        default=(), converter=tuple[TurnExecutionSummary, ...]
    )
    reasoning_summary: str = ""
    current: TurnExecutionSummary | None = None
    curation_log: tuple[TurnCuration, ...] = field(default=(), converter=tuple[TurnCuration, ...])

    @property
    def turns(self) -> tuple[TurnExecutionSummary, ...]:
        """Return the recent exchanges and the one under way, oldest first."""
        return (*self.recent_summaries, *filter(None, [self.current]))

    @property
    def phase(self) -> ConversationPhase | None:
        """Return the newest phase that is known."""
        phases = (turn.conversation_phase for turn in reversed(self.turns))
        return next(filter(None, phases), None)

    @property
    def user_expressed(self) -> str:
        """Return the newest `user_expressed` that is not empty."""
        return next(filter(None, (turn.user_expressed for turn in reversed(self.turns))), "")


ReasoningNode = Literal["understand", "think", "act", "reply"]


class ReasoningPart(StrEnum):
    """A part of layer 3."""

    EARLIER = "earlier"
    """The summary of the exchanges before the last ones."""
    STEPS = "steps"
    """Decision, goal and all details of steps, of the last exchanges and the one under way."""
    CURRENT_STEPS = "current_steps"
    """The steps of the exchange under way, with notes."""
    OUTCOMES = "outcomes"
    """The outcomes of the steps of the last exchanges and of the one under way."""
    CURATION = "curation"
    """Decisions about entities in those exchanges."""
    OWN_CURATION = "own_curation"
    """Understand's own decisions, exchange by exchange."""
    PHASE = "phase"
    USER_EXPRESSED = "user_expressed"


Parts = frozenset[ReasoningPart]

_FULL_TURN = frozenset(
    {
        ReasoningPart.STEPS,
        ReasoningPart.CURATION,
        ReasoningPart.PHASE,
        ReasoningPart.USER_EXPRESSED,
    }
)
NODE_PARTS: Mapping[str, Parts] = MappingProxyType(
    {
        "understand": frozenset({ReasoningPart.OWN_CURATION}),
        "think": _FULL_TURN | {ReasoningPart.EARLIER},
        "act": frozenset({ReasoningPart.CURRENT_STEPS}),
        "reply": frozenset(
            {ReasoningPart.OUTCOMES, ReasoningPart.PHASE, ReasoningPart.USER_EXPRESSED}
        ),
    }
)
"""The parts that each of the four nodes reads."""

_OUTCOME_TURNS = 2
"""Number of exchanges whose outcomes are shown to nodes that do not read the steps."""
_OF_PAST_TURNS = _FULL_TURN | {ReasoningPart.OUTCOMES}


def visible_reasoning(trace: ReasoningTrace, parts: Parts) -> ReasoningTrace:
    """Return `trace` with the named parts only; a blocked exchange still shows its reason."""
    past = bool(parts & _OF_PAST_TURNS)
    # A reader of nothing but the steps under way sees nothing of the exchanges before.
    current = trace.current if past or ReasoningPart.CURRENT_STEPS in parts else None
    recent = (
        trace.recent_summaries if ReasoningPart.STEPS in parts else trace.turns[-_OUTCOME_TURNS:]
    )
    return ReasoningTrace(
        recent_summaries=[
            _visible_turn(turn, parts - {ReasoningPart.CURRENT_STEPS})
            for turn in recent
            if past and turn is not trace.current
        ],
        reasoning_summary=trace.reasoning_summary if ReasoningPart.EARLIER in parts else "",
        current=current and _visible_turn(current, parts),
        curation_log=trace.curation_log if ReasoningPart.OWN_CURATION in parts else (),
    )


def _visible_turn(turn: TurnExecutionSummary, parts: Parts) -> TurnExecutionSummary:
    full = ReasoningPart.STEPS in parts
    return TurnExecutionSummary(
        turn_num=turn.turn_num,
        think_decision=turn.think_decision if full else None,
        think_goal=turn.think_goal if full else "",
        steps=_visible_steps(turn, parts),
        entity_curation=turn.entity_curation
        if ReasoningPart.CURATION in parts
        else CurationSummary(),
        conversation_phase=turn.conversation_phase if ReasoningPart.PHASE in parts else None,
        user_expressed=turn.user_expressed if ReasoningPart.USER_EXPRESSED in parts else "",
        blocked_reason=turn.blocked_reason,
    )


def _visible_steps(turn: TurnExecutionSummary, parts: Parts) -> tuple[StepSummary, ...]:
    if ReasoningPart.STEPS in parts:
        return turn.steps
    if ReasoningPart.CURRENT_STEPS in parts:
        return tuple(evolve(step, entities_involved=()) for step in turn.steps)
    if ReasoningPart.OUTCOMES in parts:
        # A step without a description prints as its outcome.
        return tuple(
            StepSummary(step.step_num, step.type, "", "", step.outcome) for step in turn.steps
        )
    return ()


SAID_TOKENS = 200
"""The most tokens of a model's own words in an entry that is kept verbatim."""


def spoken_line(text: str, counter: TokenCounter | None = None) -> str:
    """Return a model's words on one line of at most `SAID_TOKENS`, to be kept verbatim."""
    return one_line(condense(text, SAID_TOKENS, counter=counter))


def reasoning_parts(trace: ReasoningTrace, counter: TokenCounter | None = None) -> tuple[Part, ...]:
    """Return everything in `trace` as parts of a prompt.

    Blocking reasons, the outcomes of the last exchange, and outcomes alone of the one under way are
    preserved; the summary of earlier exchanges is dropped first, by line.

    Law: no line starts with anything that a model or a user said.
    """
    flow = (("Phase", trace.phase or ""), ("User expressed", one_line(trace.user_expressed)))
    return drop_empty(
        (
            part(
                "Your decisions so far",
                (
                    f"- Turn {entry.turn_num}: {_format_curation(entry.curation)}"
                    for entry in trace.curation_log
                ),
            ),
            part(
                "Earlier reasoning",
                map(quote_block, trace.reasoning_summary.splitlines()),
                ResourceClass.DROPPABLE,
            ),
            *(_format_turn(turn, trace, counter) for turn in trace.turns),
            part(
                "Conversation flow",
                (f"{label}: {text}" for label, text in flow if text),
                ResourceClass.PRESERVED,
            ),
        )
    )


def _format_turn(
    turn: TurnExecutionSummary, trace: ReasoningTrace, counter: TokenCounter | None
) -> Part:
    is_last = turn is not trace.current and turn is trace.recent_summaries[-1]
    which = "This turn" if turn is trace.current else "Last turn" if is_last else "Turn before"
    # One line tells all outcomes where they are what matters; the steps do not repeat them.
    is_told = is_last or not any(step.description for step in turn.steps)
    decided = ": ".join(filter(None, (turn.think_decision, one_line(turn.think_goal))))
    entries = [Entry(f"Decided: {decided}")] if decided else []
    entries += [Entry(text) for step in turn.steps if (text := _format_step(step, is_told=is_told))]
    outcomes = "; ".join(step.outcome for step in turn.steps if step.outcome.strip())
    if is_told and outcomes:
        label = "Just accomplished" if turn is trace.current else which
        entries.append(pin(f"{label}: {spoken_line(outcomes, counter)}"))
    if not turn.entity_curation.is_empty:
        entries.append(Entry(f"Curation: {_format_curation(turn.entity_curation)}"))
    # Entries may be dropped, but not the reason why the exchange was blocked, which is the last.
    blocked = [] if turn.blocked_reason is None else [f"BLOCKED: {one_line(turn.blocked_reason)}"]
    return Part(f"{which} (turn {turn.turn_num})", [*entries, *map(pin, blocked)])


def _format_step(step: StepSummary, *, is_told: bool) -> str:
    """Return a step with all its details; without its outcome if it is told elsewhere."""
    if not step.description:
        return "" if is_told or not step.outcome else f"- {one_line(step.outcome)}"
    lines = [
        (
            f"- Step {step.step_num} ({step.type} {one_line(step.subdomain)}): "
            f"{one_line(step.description)}"
        )
    ]
    entities = ", ".join(map(one_line, step.entities_involved))
    details = (
        ("Outcome", "" if is_told else one_line(step.outcome)),
        ("Note", one_line(step.note or "")),
        ("Entities", entities),
    )
    return "\n".join([*lines, *(f"  {label}: {text}" for label, text in details if text)])


def _format_curation(curation: CurationSummary) -> str:
    def explain(ref: str) -> str:
        reason = curation.reasons.get(ref)
        return f"{one_line(ref)} ({one_line(reason)})" if reason else one_line(ref)

    both = (("retained", curation.retained), ("demoted", curation.demoted))
    return (
        "; ".join(f"{did} {', '.join(map(explain, refs))}" for did, refs in both if refs)
        or "nothing changed"
    )


def format_reasoning_for_prompt(trace: ReasoningTrace, node: ReasoningNode) -> str:
    """Return the parts of `trace` that `node` may see, as text (docs/nodes.md).

    ``understand``: its own decisions about entities. ``think``: a summary, the last exchanges in
    full with curation, the phase, and what the user expressed. ``act``: the steps under way with
    notes. ``reply``: the outcomes, the phase, and what the user expressed. Blocked exchanges show
    the reason. Raise `InvalidOptionError` for any other node.

    Law: no line starts with anything that a model or a user said.

    >>> from polycontext.nodes.reasoning import StepSummary, TurnExecutionSummary
    >>> step = StepSummary(1, "read", "recipes", "Find soups", "read 3 soups", note="one is vegan")
    >>> trace = ReasoningTrace(current=TurnExecutionSummary(4, "plan_direct", "Soup", [step]))
    >>> print(format_reasoning_for_prompt(trace, "act"))
    ### This turn (turn 4)
    - Step 1 (read recipes): Find soups
      Outcome: read 3 soups
      Note: one is vegan
    >>> print(format_reasoning_for_prompt(trace, "reply"))
    ### This turn (turn 4)
    Just accomplished: read 3 soups
    """
    require("node", node, node in NODE_PARTS, ", ".join(NODE_PARTS))
    return render_parts(
        reasoning_parts(visible_reasoning(trace, NODE_PARTS[node])), "(nothing happened yet)"
    )
