"""The four nodes, each declared in one place, and what each must be told beside its layers (docs/nodes.md).

Some additions stand for the whole conversation, however often it was compressed. Each of these takes at most a quarter of
the budget that the node declares. Rules and demands stay word for word within that; the others yield where room is short.
"""

from collections.abc import Container, Iterable, Iterator

from polycontext.linearity import ResourceClass, constraint_sentences
from polycontext.pressure import is_summary
from polycontext.pressure.notes import SummaryLine, parse_summary
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.items import attachment_of, fenced_text

from ..condensation import condense, share_out
from ..entities import EntityMode, format_entity_context
from ..history import ConversationPart as Said
from ..prompt_text import json_line, one_line, quote
from ..reasoning import NODE_PARTS, TurnExecutionSummary
from .node import Addition, Material, Node, Section

_WAS_ATTACHED = "attached "
"""How a line of a gist begins that stands for what the user attached."""

SHARE = 0.25
"""What of a node's budget each of these may take."""


def _pinned(material: Material) -> Iterable[str]:
    """Return what user and assistant said that is PRESERVED, and what the user demanded that is not, but for what stands among the recent."""
    window = material.output.window
    recent = "".join(f"\n{turn.user}\n{turn.assistant_summary}\n" for turn in material.history.recent_turns)
    # By whole lines: what is short stands by accident in many a word.
    said = [(turn.role, text) for turn in window.all_turns() for text in _standing(window, turn) if f"\n{text}\n" not in recent]
    for role, label in ((Role.USER, "The user said, and it still holds"), (Role.ASSISTANT, "The assistant said, and it still holds")):
        yield from _condense_within(material, [(label, text) for each, text in said if each is role], role)


def _standing(window: ContextWindow, turn: Turn) -> Iterable[str]:
    """Return what of a turn holds on: all of it where it is PRESERVED, else what the user demands in it, there or behind a gist."""
    if is_summary(turn):
        return [sentence for told in parse_summary(turn) if _may_demand(told) for sentence in constraint_sentences(told.text)]
    if turn.role not in (Role.USER, Role.ASSISTANT) or attachment_of(turn) is not None:
        return ()
    if window.class_of(turn) is ResourceClass.PRESERVED:
        return filter(None, [turn.text.strip()])
    return constraint_sentences(turn.text) if turn.role is Role.USER else ()


def _may_demand(told: SummaryLine) -> bool:
    """Tell whether a line of a gist may be the user's demand: the user's own, or somebody's summary of it."""
    return told.role is Role.USER or (not told.is_call and bool(told.standing or not told.label))


def _results(material: Material) -> Iterable[str]:
    """Return the results of tools that somebody pinned: data, for those that read data."""
    window = material.output.window
    pinned = [turn.text for turn in window.all_turns() if turn.role is Role.TOOL and window.class_of(turn) is ResourceClass.PRESERVED]
    return _condense_within(material, [("Pinned", text) for text in pinned], Role.ASSISTANT)


def _rules(material: Material) -> Iterable[str]:
    rules = [("Rules", turn.text) for turn in material.output.window.all_turns() if turn.role is Role.SYSTEM]
    return _condense_within(material, rules, Role.SYSTEM)


def _attached(material: Material) -> Iterator[str]:
    """Yield what the user attached: what it holds, or its outline where a gist stands for it."""
    turns = material.output.window.all_turns()
    held = [(attachment, fenced_text(turn.text)[1]) for turn in turns if (attachment := attachment_of(turn)) is not None]
    yield from _condense_within(material, [(f"Attached {one_line(attachment.mention)}", text) for attachment, text in held], Role.USER)
    lines = (told for turn in turns if is_summary(turn) for told in parse_summary(turn))
    yield from (quote(told.text).capitalize() for told in lines if told.text.startswith(_WAS_ATTACHED))


def _gists(material: Material) -> Iterable[str]:
    """Return what stands in the view for turns that left it: for how many, and what user and assistant said that is not told already.

    What tools answered is no part of a conversation, and not every node may read it.
    """
    history = material.history
    known = {*history.history_summary.splitlines(), *(line for turn in history.recent_turns for line in turn.lines.splitlines())}
    gists = [turn for turn in material.output.window.all_turns() if is_summary(turn)]
    return _condense_within(material, [(_in_place_of(turn), _quote_lines(turn, known)) for turn in gists], Role.ASSISTANT)


def _in_place_of(gist: Turn) -> str:
    return f"In place of {len(gist.sources)} earlier messages" if len(gist.sources) > 1 else "In place of earlier messages"


def _quote_lines(gist: Turn, known: Container[str]) -> str:
    lines = (told for told in parse_summary(gist) if not told.is_call and not told.text.startswith(_WAS_ATTACHED))
    printed = (f"{told.label}{told.text}" for told in lines)
    return "\n".join(line for line in printed if line not in known) or "(told above, or not at all)"


def _condense_within(material: Material, told: Iterable[tuple[str, str]], role: Role) -> Iterable[str]:
    """Return each text once behind its label, all together in about a quarter of the node's budget: the longest yield to their demands."""
    counter, room = material.output.window.counter, int(material.node.budget * SHARE)
    labels = {text.strip(): label for label, text in told if text.strip()}
    sizes = list(map(counter.count, labels))
    share = room // max(1, len(labels)) if sum(sizes) > room else room
    texts = [_extract_demands(text) if size > share else text for text, size in zip(labels, sizes, strict=True)]
    shares = share_out(room, list(map(counter.count, texts)))
    short = (condense(text, share, role=role, counter=counter) for text, share in zip(texts, shares, strict=True))
    return (f"{label}: {quote(text)}" for label, text in zip(labels.values(), short, strict=True) if text)


def _extract_demands(text: str) -> str:
    """Return what `text` demands, all of it where it demands nothing."""
    return "\n".join(constraint_sentences(text)) or text


STANDING = Addition("standing", Section.CONVERSATION, _pinned)
RESULTS = Addition("pinned_results", Section.CONVERSATION, _results, ResourceClass.REQUIRED)
RULES = Addition("rules", Section.CONVERSATION, _rules)
ATTACHED = Addition("attached", Section.CONVERSATION, _attached, ResourceClass.REQUIRED)
GISTS = Addition("gists", Section.CONVERSATION, _gists, ResourceClass.DROPPABLE)


SAID_TOKENS = 200
"""How many tokens of a model's own words an addition that stays word for word may take."""


def _do_not_read(material: Material) -> tuple[str, ...]:
    context = material.entities
    known = context.active or context.generated or context.retained
    return (format_entity_context(context, EntityMode.DO_NOT_READ),) if known else ()


def _last_turn(material: Material) -> tuple[str, ...]:
    summaries = [each for each in material.conversation.turn_summaries[-1:] if each != TurnExecutionSummary(each.turn_num)]
    return (f"Last turn: {_condense_line(_summarize_turn(summaries[-1]), material)}",) if summaries else ()


def _accomplished(material: Material) -> tuple[str, ...]:
    return (f"Just accomplished: {_condense_line(_summarize_turn(material.turn.summary), material)}",) if material.turn.steps else ()


def _condense_line(text: str, material: Material) -> str:
    """Return the words of a model on one line and in a bound: it may not yield, and must not take the room of all else."""
    return one_line(condense(text, SAID_TOKENS, counter=material.output.window.counter))


def _summarize_turn(turn: TurnExecutionSummary) -> str:
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
    return (f"Note of the previous step: {_condense_line(note, material)}",) if note else ()


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
