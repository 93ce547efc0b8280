"""What every node is told of what the machine kept: what stands for the whole conversation, however often it was compressed.

Each of these takes at most a quarter of the budget that the node declares. Rules and demands stay word for word within that,
the others yield where the room is short.
"""

from collections.abc import Container, Iterable, Iterator

from polycontext.linearity import ResourceClass, constraint_sentences
from polycontext.pressure import is_summary
from polycontext.pressure.notes import SummaryLine, parse_summary
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.items import attachment_of, fenced_text

from ..condensation import condense, shared
from ..prompt_text import one_line, quoted
from .node import Addition, Material, Section

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
        yield from _within(material, [(label, text) for each, text in said if each is role], role)


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
    return _within(material, [("Pinned", text) for text in pinned], Role.ASSISTANT)


def _rules(material: Material) -> Iterable[str]:
    rules = [("Rules", turn.text) for turn in material.output.window.all_turns() if turn.role is Role.SYSTEM]
    return _within(material, rules, Role.SYSTEM)


def _attached(material: Material) -> Iterator[str]:
    """Yield what the user attached: what it holds, or its outline where a gist stands for it."""
    turns = material.output.window.all_turns()
    held = [(attachment, fenced_text(turn.text)[1]) for turn in turns if (attachment := attachment_of(turn)) is not None]
    yield from _within(material, [(f"Attached {one_line(attachment.mention)}", text) for attachment, text in held], Role.USER)
    lines = (told for turn in turns if is_summary(turn) for told in parse_summary(turn))
    yield from (quoted(told.text).capitalize() for told in lines if told.text.startswith(_WAS_ATTACHED))


def _gists(material: Material) -> Iterable[str]:
    """Return what stands in the view for turns that left it: for how many, and what user and assistant said that is not told already.

    What tools answered is no part of a conversation, and not every node may read it.
    """
    history = material.history
    known = {*history.history_summary.splitlines(), *(line for turn in history.recent_turns for line in turn.lines.splitlines())}
    gists = [turn for turn in material.output.window.all_turns() if is_summary(turn)]
    return _within(material, [(_in_place_of(turn), _said_in(turn, known)) for turn in gists], Role.ASSISTANT)


def _in_place_of(gist: Turn) -> str:
    return f"In place of {len(gist.sources)} earlier messages" if len(gist.sources) > 1 else "In place of earlier messages"


def _said_in(gist: Turn, known: Container[str]) -> str:
    lines = (told for told in parse_summary(gist) if not told.is_call and not told.text.startswith(_WAS_ATTACHED))
    printed = (f"{told.label}{told.text}" for told in lines)
    return "\n".join(line for line in printed if line not in known) or "(told above, or not at all)"


def _within(material: Material, told: Iterable[tuple[str, str]], role: Role) -> Iterable[str]:
    """Return each text once behind its label, all together in about a quarter of the node's budget: the longest yield to their demands."""
    counter, room = material.output.window.counter, int(material.node.budget * SHARE)
    labels = {text.strip(): label for label, text in told if text.strip()}
    sizes = list(map(counter.count, labels))
    share = room // max(1, len(labels)) if sum(sizes) > room else room
    texts = [_demands(text) if size > share else text for text, size in zip(labels, sizes, strict=True)]
    shares = shared(room, list(map(counter.count, texts)))
    short = (condense(text, share, role=role, counter=counter) for text, share in zip(texts, shares, strict=True))
    return (f"{label}: {quoted(text)}" for label, text in zip(labels.values(), short, strict=True) if text)


def _demands(text: str) -> str:
    """Return what `text` demands, all of it where it demands nothing."""
    return "\n".join(constraint_sentences(text)) or text


STANDING = Addition("standing", Section.CONVERSATION, _pinned)
RESULTS = Addition("pinned_results", Section.CONVERSATION, _results, ResourceClass.REQUIRED)
RULES = Addition("rules", Section.CONVERSATION, _rules)
ATTACHED = Addition("attached", Section.CONVERSATION, _attached, ResourceClass.REQUIRED)
GISTS = Addition("gists", Section.CONVERSATION, _gists, ResourceClass.DROPPABLE)
