"""The four nodes, and what they read beside their layers (docs/nodes.md).

Some additions cover the whole conversation, however often it was compressed. Each of these takes at
most a quarter of the budget. Within that share, rules and demands are kept
verbatim; other text is condensed where room is short.
"""

from collections.abc import Container, Iterable, Iterator, Mapping

from polycontext.linearity import ResourceClass, constraint_sentences
from polycontext.pressure import is_summary
from polycontext.pressure.notes import parse_summary
from polycontext.window import Role, Turn
from polycontext.window.items import attachment_of, fenced_text

from ..condensation import condense, share_out
from ..entities.presentation import EntityMode, do_not_read
from ..history import ConversationPart
from ..prompt_text import json_line, one_line, quote
from ..reasoning import NODE_PARTS, spoken_line
from .node import Addition, Material, Node, Section

_WAS_ATTACHED = "attached "
"""The start of a gist line that stands for an attachment of the user."""

_HOLDS, _PRESERVED = "The {} said, and it still holds", ResourceClass.PRESERVED

SHARE = 0.25
"""The share of the budget that each of these additions may take."""


def _quote_pinned(material: Material) -> Iterator[str]:
    """Yield the PRESERVED texts and the user's rules that the recent exchanges do not show."""
    window = material.now.output.window
    recent = "".join(
        f"\n{turn.user}\n{turn.assistant_summary}\n" for turn in material.history.recent_turns
    )
    pinned = [turn for turn in window.all_turns() if window.class_of(turn) is _PRESERVED]
    # Compare whole lines: a short text occurs by chance inside many others.
    said = [
        (turn.role, text)
        for turn in pinned
        if not is_summary(turn) and attachment_of(turn) is None
        if (text := turn.text.strip()) and f"\n{text}\n" not in recent
    ]
    shown = {turn.resource_id for turn in pinned}
    rules = [
        f"{_HOLDS.format(Role.USER)}: {quote(rule.text)}"
        for rule in window.rules.standing
        if rule.turn_id not in shown and f"\n{rule.text}\n" not in recent
    ]
    for role, whole in ((Role.USER, rules), (Role.ASSISTANT, ())):
        told = [(_HOLDS.format(role), text) for speaker, text in said if speaker is role]
        yield from _condense_within(material, told, role)
        yield from whole


def _quote_results(material: Material) -> Iterable[str]:
    """Return the pinned tool results, for nodes that read data."""
    window = material.now.output.window
    pinned = [
        ("Pinned", turn.text)
        for turn in window.all_turns()
        if turn.role is Role.TOOL and window.class_of(turn) is ResourceClass.PRESERVED
    ]
    return _condense_within(material, pinned, Role.ASSISTANT)


def _quote_rules(material: Material) -> Iterable[str]:
    rules = [
        ("Rules", turn.text)
        for turn in material.now.output.window.all_turns()
        if turn.role is Role.SYSTEM
    ]
    return _condense_within(material, rules, Role.SYSTEM)


def _quote_attachments(material: Material) -> Iterator[str]:
    """Yield each attachment's content, or its outline where a gist stands for it."""
    turns = material.now.output.window.all_turns()
    held = [
        (f"Attached {one_line(attachment.mention)}", fenced_text(turn.text)[1])
        for turn in turns
        if (attachment := attachment_of(turn)) is not None
    ]
    yield from _condense_within(material, held, Role.USER)
    lines = (told for turn in turns if is_summary(turn) for told in parse_summary(turn))
    yield from (
        quote(told.text).capitalize() for told in lines if told.text.startswith(_WAS_ATTACHED)
    )


def _quote_gists(material: Material) -> Iterable[str]:
    """Return the gists in the view, with their user and assistant lines that are not shown already.

    Tool results are left out: they are no part of the conversation, and not every node may read
    them.
    """
    history = material.history
    known = {
        *history.history_summary.splitlines(),
        *(line for turn in history.recent_turns for line in turn.lines.splitlines()),
    }
    gists = [
        (_label_gist(turn), _quote_lines(turn, known))
        for turn in material.now.output.window.all_turns()
        if is_summary(turn)
    ]
    return _condense_within(material, gists, Role.ASSISTANT)


def _label_gist(gist: Turn) -> str:
    number = f"{len(gist.sources)} " if len(gist.sources) > 1 else ""
    return f"In place of {number}earlier messages"


def _quote_lines(gist: Turn, known: Container[str]) -> str:
    lines = (
        told
        for told in parse_summary(gist)
        if not told.is_call and not told.text.startswith(_WAS_ATTACHED)
    )
    printed = (f"{told.label}{told.text}" for told in lines)
    return "\n".join(line for line in printed if line not in known) or "(told above, or not at all)"


def _condense_within(
    material: Material, told: Iterable[tuple[str, str]], role: Role
) -> Iterable[str]:
    """Return each text once with its label, condensed together to `SHARE` of the budget.

    The longest texts of users and the system are reduced to their demands first.
    """
    counter, room = material.now.output.window.counter, int(material.node.budget * SHARE)
    labels = {text.strip(): label for label, text in told if text.strip()}
    sizes = list(map(counter.count, labels))
    share = room // max(1, len(labels)) if sum(sizes) > room else room
    demands = role is not Role.ASSISTANT
    texts = [
        # The demands of a long text, or all of it if it has none.
        "\n".join(constraint_sentences(text) if demands and size > share else ()) or text
        for text, size in zip(labels, sizes, strict=True)
    ]
    shares = share_out(room, list(map(counter.count, texts)))
    short = (
        condense(text, share, counter=counter) for text, share in zip(texts, shares, strict=True)
    )
    return (
        f"{label}: {quote(text)}"
        for label, text in zip(labels.values(), short, strict=True)
        if text
    )


STANDING = Addition("standing", Section.CONVERSATION, _quote_pinned)
RESULTS = Addition("pinned_results", Section.CONVERSATION, _quote_results, ResourceClass.REQUIRED)
RULES = Addition("rules", Section.CONVERSATION, _quote_rules)
ATTACHED = Addition("attached", Section.CONVERSATION, _quote_attachments, ResourceClass.REQUIRED)
GISTS = Addition("gists", Section.CONVERSATION, _quote_gists, ResourceClass.DROPPABLE)


SHARED_ENTRIES = 5
"""How many entries of each path of the shared context a node reads."""
_UNSHOWN = ("id", "timestamp", "provenance")
"""The fields of such an entry that say nothing to a model."""


def _report_results(material: Material) -> Iterator[str]:
    registry = material.now.conversation.id_registry
    for step in material.now.turn.steps:
        if step.result is not None:
            result = registry.hide_ids(step.result, step.subdomain)
            yield f"Result of step {step.step_num}: {json_line(result)}"
    for result in material.now.results:
        yield f"Result so far: {json_line(registry.hide_ids(result))}"


def _report_note(material: Material) -> str:
    note, counter = material.now.turn.prev_step_note, material.now.output.window.counter
    return f"Note of the previous step: {spoken_line(note, counter)}" if note else ""


def _list_archive(material: Material) -> str:
    """Return the keys of archived results of earlier exchanges.

    The contents are left out: they would bring back entities that are out of mind.
    """
    keys = ", ".join(map(one_line, material.now.conversation.content_archive))
    return f"Archived, to retrieve by key: {keys}" if keys else ""


def _report_situation(material: Material) -> str:
    """Return what compression took out of the view."""
    turns = material.now.output.window.all_turns()
    taken = sum(len(turn.sources) for turn in turns if turn.is_gist)
    return f"{taken} earlier messages are summarised" if taken else ""


def _quote_shared(material: Material) -> Iterator[str]:
    """Yield the newest entries of what the node reads of the shared context."""
    for path in material.node.reads:
        for each in [*material.now.shared(path)][-SHARED_ENTRIES:]:
            shown = isinstance(each, Mapping) and {
                key: value for key, value in each.items() if key not in _UNSHOWN
            }
            yield f"Shared {path}: {json_line(shown or each)}"


SITUATION = Addition("situation", Section.REASONING, _report_situation)
SHARED = Addition("shared", Section.REASONING, _quote_shared, ResourceClass.DROPPABLE)
DO_NOT_READ = Addition(
    "do_not_read", Section.ENTITIES, lambda material: do_not_read(material.entities)
)
STEP_RESULTS = Addition("step_results", Section.REASONING, _report_results, ResourceClass.REQUIRED)
PREV_STEP_NOTE = Addition("prev_step_note", Section.REASONING, _report_note)
CONTENT_ARCHIVE = Addition(
    "content_archive", Section.REASONING, _list_archive, ResourceClass.REQUIRED
)


UNDERSTAND = Node(
    "understand",
    entities=EntityMode.CURATION,
    conversation=set(ConversationPart),
    reasoning=NODE_PARTS["understand"],
    additions=(STANDING, RESULTS, ATTACHED, GISTS),
)

THINK = Node(
    "think",
    entities=EntityMode.REFS_AND_LABELS,
    conversation=set(ConversationPart),
    reasoning=NODE_PARTS["think"],
    additions=(STANDING, ATTACHED, GISTS, DO_NOT_READ),
)

ACT = Node(
    "act",
    entities=EntityMode.FULL,
    conversation={ConversationPart.RECENT},
    reasoning=NODE_PARTS["act"],
    additions=(STANDING, RULES, RESULTS, ATTACHED, CONTENT_ARCHIVE, STEP_RESULTS, PREV_STEP_NOTE),
    budget=8000,
)

REPLY = Node(
    "reply",
    entities=EntityMode.REPLY,
    conversation={ConversationPart.RECENT, ConversationPart.ENGAGEMENT, ConversationPart.PENDING},
    reasoning=NODE_PARTS["reply"],
    additions=(STANDING, RULES, ATTACHED),
)

NODES = {node.name: node for node in (UNDERSTAND, THINK, ACT, REPLY)}
"""The four nodes by name."""
