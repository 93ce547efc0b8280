"""The four nodes, each declared in one place, and what each must be told beside its layers (docs/nodes.md)."""

from polycontext.linearity import ResourceClass

from ..condensation import condense
from ..entities import EntityMode, format_entity_context
from ..history import ConversationPart as Said
from ..prompt_text import json_line, one_line
from ..reasoning import NODE_PARTS, TurnExecutionSummary
from .node import Addition, Material, Node, Section
from .shared_sections import ATTACHED, GISTS, RESULTS, RULES, STANDING

SAID_TOKENS = 200
"""How many tokens of a model's own words an addition that stays word for word may take."""


def _do_not_read(material: Material) -> tuple[str, ...]:
    context = material.entities
    known = context.active or context.generated or context.retained
    return (format_entity_context(context, EntityMode.DO_NOT_READ),) if known else ()


def _last_turn(material: Material) -> tuple[str, ...]:
    summaries = [each for each in material.conversation.turn_summaries[-1:] if each != TurnExecutionSummary(each.turn_num)]
    return (f"Last turn: {_short(_done(summaries[-1]), material)}",) if summaries else ()


def _accomplished(material: Material) -> tuple[str, ...]:
    return (f"Just accomplished: {_short(_done(material.turn.summary), material)}",) if material.turn.steps else ()


def _short(said: str, material: Material) -> str:
    """Return what a model said on one line and in a bound: it may not yield, and must not take the room of all else."""
    return one_line(condense(said, SAID_TOKENS, counter=material.output.window.counter))


def _done(turn: TurnExecutionSummary) -> str:
    """Return what an exchange did as one line: its outcomes, or why there are none."""
    outcomes = "; ".join(one_line(step.outcome) for step in turn.steps if step.outcome)
    blocked = f"BLOCKED: {one_line(turn.blocked_reason)}" if turn.blocked_reason is not None else ""
    return "; ".join(filter(None, (outcomes, blocked))) or "nothing was done"


def _step_results(material: Material) -> tuple[str, ...]:
    registry = material.conversation.id_registry
    results = ((step.step_num, registry.hide_ids(step.result, step.subdomain)) for step in material.turn.steps if step.result is not None)
    return tuple(f"Result of step {number}: {json_line(result)}" for number, result in results)


def _prev_step_note(material: Material) -> tuple[str, ...]:
    note = material.turn.prev_step_note
    return (f"Note of the previous step: {_short(note, material)}",) if note else ()


def _content_archive(material: Material) -> tuple[str, ...]:
    """Return the keys under which results of earlier exchanges may be retrieved; the contents would bring back what is out of mind."""
    keys = ", ".join(map(one_line, material.conversation.content_archive))
    return (f"Archived, to retrieve by key: {keys}",) if keys else ()


DO_NOT_READ = Addition("do_not_read", Section.ENTITIES, _do_not_read)
LAST_TURN = Addition("last_turn", Section.REASONING, _last_turn)
STEP_RESULTS = Addition("step_results", Section.REASONING, _step_results, ResourceClass.REQUIRED)
PREV_STEP_NOTE = Addition("prev_step_note", Section.REASONING, _prev_step_note)
CONTENT_ARCHIVE = Addition("content_archive", Section.REASONING, _content_archive, ResourceClass.REQUIRED)
ACCOMPLISHED = Addition("accomplished", Section.REASONING, _accomplished)


UNDERSTAND = Node(
    "understand",
    "Find out what the user wants. Decide which entities stay in mind, which may go, and why.",
    EntityMode.CURATION,
    conversation=set(Said),
    reasoning=NODE_PARTS["understand"],
    additions=(STANDING, RESULTS, ATTACHED, GISTS),
)

THINK = Node(
    "think",
    "Plan the next steps: plan directly, propose, or ask. What is known needs no reading again.",
    EntityMode.REFS_AND_LABELS,
    conversation=set(Said),
    reasoning=NODE_PARTS["think"],
    additions=(STANDING, ATTACHED, GISTS, DO_NOT_READ, LAST_TURN),
)

ACT = Node(
    "act",
    "Execute the step at hand with the data shown. Leave a note for the next step where it needs one.",
    EntityMode.FULL,
    conversation={Said.RECENT},
    reasoning=NODE_PARTS["act"],
    additions=(STANDING, RULES, RESULTS, ATTACHED, CONTENT_ARCHIVE, STEP_RESULTS, PREV_STEP_NOTE),
    budget=8000,
)

REPLY = Node(
    "reply",
    "Answer the user naturally, by the names of things, going on from where the conversation stands.",
    EntityMode.REPLY,
    conversation={Said.RECENT, Said.ENGAGEMENT, Said.PENDING},
    reasoning=NODE_PARTS["reply"],
    additions=(STANDING, RULES, ATTACHED, ACCOMPLISHED),
)

NODES = {node.name: node for node in (UNDERSTAND, THINK, ACT, REPLY)}
"""The four nodes by name."""
