"""Layer 3 from what is remembered: who reads what of it, and how it is printed (docs/memory.md)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from attrs import evolve

from polycontext.linearity import InvalidOptionError, ResourceClass

from ..prompt_text import Entry, Part, filled, one_line, part, printed, quoted_block
from .summaries import CurationSummary, ReasoningTrace, StepSummary, TurnExecutionSummary

if TYPE_CHECKING:
    from ..memory import ConversationContext, CurrentTurn

ReasoningNode = Literal["understand", "think", "act", "reply"]


class ReasoningPart(StrEnum):
    """Name a part of layer 3."""

    EARLIER = "earlier"
    """What is left of the exchanges before the last ones."""
    STEPS = "steps"
    """The last exchanges and the one under way in full: decision, goal, steps with notes, outcomes and refs."""
    CURRENT_STEPS = "current_steps"
    """The steps of the exchange under way, with notes."""
    OUTCOMES = "outcomes"
    """What came out of the steps of the last exchanges and of the one under way."""
    CURATION = "curation"
    """What was decided about entities in those exchanges."""
    OWN_CURATION = "own_curation"
    """Understand's own decisions, exchange by exchange."""
    PHASE = "phase"
    USER_EXPRESSED = "user_expressed"


Done = ReasoningPart
Parts = frozenset[ReasoningPart]

NODE_PARTS: Mapping[str, Parts] = MappingProxyType(
    {
        "understand": frozenset({Done.OWN_CURATION}),
        "think": frozenset({Done.EARLIER, Done.STEPS, Done.CURATION, Done.PHASE, Done.USER_EXPRESSED}),
        "act": frozenset({Done.CURRENT_STEPS}),
        "reply": frozenset({Done.OUTCOMES, Done.PHASE, Done.USER_EXPRESSED}),
    }
)
"""What each of the four nodes reads."""

_OUTCOME_TURNS = 2
"""Of how many exchanges those read the outcomes who do not read the steps."""
_OF_PAST_TURNS = frozenset({Done.STEPS, Done.OUTCOMES, Done.CURATION, Done.PHASE, Done.USER_EXPRESSED})


def get_reasoning_trace(conversation: "ConversationContext", turn: "CurrentTurn | None" = None) -> ReasoningTrace:
    """Build the reasoning trace from what is remembered and the exchange under way (docs/memory.md).

    A `turn` that was closed already is not shown twice.
    """
    recent = conversation.turn_summaries
    current = None if turn is None or any(each.turn_num == turn.turn_num for each in recent) else turn.summary
    return ReasoningTrace(recent, conversation.reasoning_summary, current, conversation.understand_decision_log)


def visible_reasoning(trace: ReasoningTrace, parts: Parts) -> ReasoningTrace:
    """Return `trace` with the named parts alone; why an exchange was blocked stands wherever a part of the exchange does."""
    past = bool(parts & _OF_PAST_TURNS)
    # Who reads the steps under way and nothing else is told nothing of the exchanges before.
    current = trace.current if past or Done.CURRENT_STEPS in parts else None
    recent = trace.recent_summaries if Done.STEPS in parts else trace.turns[-_OUTCOME_TURNS:]
    return ReasoningTrace(
        recent_summaries=[_visible_turn(turn, parts) for turn in recent if turn is not trace.current] if past else (),
        reasoning_summary=trace.reasoning_summary if Done.EARLIER in parts else "",
        current=current and _visible_turn(current, parts, under_way=True),
        curation_log=trace.curation_log if Done.OWN_CURATION in parts else (),
    )


def _visible_turn(turn: TurnExecutionSummary, parts: Parts, *, under_way: bool = False) -> TurnExecutionSummary:
    full = Done.STEPS in parts
    return TurnExecutionSummary(
        turn_num=turn.turn_num,
        think_decision=turn.think_decision if full else None,
        think_goal=turn.think_goal if full else "",
        steps=_visible_steps(turn, parts, under_way=under_way),
        entity_curation=turn.entity_curation if Done.CURATION in parts else CurationSummary(),
        conversation_phase=turn.conversation_phase if Done.PHASE in parts else None,
        user_expressed=turn.user_expressed if Done.USER_EXPRESSED in parts else "",
        blocked_reason=turn.blocked_reason,
    )


def _visible_steps(turn: TurnExecutionSummary, parts: Parts, *, under_way: bool) -> tuple[StepSummary, ...]:
    if Done.STEPS in parts:
        return turn.steps
    if under_way and Done.CURRENT_STEPS in parts:
        return tuple(evolve(step, entities_involved=()) for step in turn.steps)
    if Done.OUTCOMES in parts:
        # Without a description a step prints as its outcome.
        return tuple(StepSummary(step.step_num, step.type, "", "", step.outcome) for step in turn.steps)
    return ()


def reasoning_parts(trace: ReasoningTrace) -> tuple[Part, ...]:
    """Return all that is in `trace` as parts; why an exchange was blocked may not yield.

    The summary of earlier exchanges goes first where room is short, line by line: it was condensed once.

    Law: no line starts with anything that a model or a user said.
    """
    said = (("Phase", trace.phase or ""), ("User expressed", one_line(trace.user_expressed)))
    return filled(
        (
            part("Your decisions so far", (f"- Turn {entry.turn_num}: {_decided(entry.curation)}" for entry in trace.curation_log)),
            part("Earlier reasoning", map(quoted_block, trace.reasoning_summary.splitlines()), ResourceClass.DROPPABLE),
            *(_turn(turn, trace) for turn in trace.turns),
            part("Conversation flow", (f"{label}: {text}" for label, text in said if text), ResourceClass.PRESERVED),
        )
    )


def _turn(turn: TurnExecutionSummary, trace: ReasoningTrace) -> Part:
    which = "This turn" if turn is trace.current else "Last turn" if turn is trace.recent_summaries[-1] else "Turn before"
    decided = ": ".join(filter(None, (turn.think_decision, one_line(turn.think_goal))))
    entries = [f"Decided: {decided}"] if decided else []
    entries += [_step(step) for step in turn.steps if step.description or step.outcome]
    if not turn.entity_curation.is_empty:
        entries.append(f"Curation: {_decided(turn.entity_curation)}")
    # The parts of an exchange may yield, why it was blocked may not: it stands last and by itself.
    blocked = [] if turn.blocked_reason is None else [f"BLOCKED: {one_line(turn.blocked_reason)}"]
    kept = (Entry(text, resource_class=ResourceClass.PRESERVED) for text in blocked)
    return Part(f"{which} (turn {turn.turn_num})", [*map(Entry, entries), *kept])


def _step(step: StepSummary) -> str:
    """Return a step with all that is known of it; one without a description is its outcome."""
    if not step.description:
        return f"- {one_line(step.outcome)}"
    lines = [f"- Step {step.step_num} ({step.type} {one_line(step.subdomain)}): {one_line(step.description)}"]
    entities = ", ".join(map(one_line, step.entities_involved))
    said = (("Outcome", one_line(step.outcome)), ("Note", one_line(step.note or "")), ("Entities", entities))
    return "\n".join([*lines, *(f"  {label}: {text}" for label, text in said if text)])


def _decided(curation: CurationSummary) -> str:
    def reasoned(ref: str) -> str:
        reason = curation.reasons.get(ref)
        return f"{one_line(ref)} ({one_line(reason)})" if reason else one_line(ref)

    both = (("retained", curation.retained), ("demoted", curation.demoted))
    return "; ".join(f"{did} {', '.join(map(reasoned, refs))}" for did, refs in both if refs) or "nothing changed"


def format_reasoning_for_prompt(trace: ReasoningTrace, node: ReasoningNode) -> str:
    """Print what `node` may see of `trace` (docs/memory.md).

    ``understand``: its own decisions about entities, exchange by exchange. ``think``: the last
    exchanges in full, their curation, the phase, what the user expressed. ``act``: the steps of
    the exchange under way with their notes. ``reply``: the outcomes, the phase, what the user expressed. Why
    an exchange was blocked stands wherever the exchange does.

    Law: no line starts with anything that a model or a user said.

    Raises:
        InvalidOptionError: another node.

    >>> from polycontext.nodes.reasoning import StepSummary, TurnExecutionSummary
    >>> step = StepSummary(1, "read", "recipes", "Find soups", "read 3 recipes", ["recipe_1"], "the second is vegan")
    >>> trace = ReasoningTrace(current=TurnExecutionSummary(4, "plan_direct", "Find a soup", [step]))
    >>> print(format_reasoning_for_prompt(trace, "act"))
    ### This turn (turn 4)
    - Step 1 (read recipes): Find soups
      Outcome: read 3 recipes
      Note: the second is vegan
    >>> print(format_reasoning_for_prompt(trace, "reply"))
    ### This turn (turn 4)
    - read 3 recipes
    """
    if node not in NODE_PARTS:
        raise InvalidOptionError("node", node, ", ".join(NODE_PARTS))
    return printed(reasoning_parts(visible_reasoning(trace, NODE_PARTS[node])), "(nothing happened yet)")
