"""What every node is told of what the machine kept: what stands for the whole conversation, however often it was compressed.

Each of these takes at most a quarter of the budget that the node declares. Rules and demands stay word for word within that,
the others yield where the room is short.
"""

from collections.abc import Iterable, Iterator, Sequence

from polycontext.linearity import ResourceClass
from polycontext.linearity.classifying.constraints import constraint_sentences
from polycontext.nodes.builders.node import Addition, Material, Section
from polycontext.nodes.fitting import condense, shared
from polycontext.nodes.prompt_text import one_line, quoted
from polycontext.pressure.extractive.lines import Line, LineKind, lines_of
from polycontext.pressure.gist import is_summary
from polycontext.window import ContextWindow, Role, TokenCounter, Turn
from polycontext.window.items import attachment_of, fenced_text

_WAS_ATTACHED = "attached "
"""How a line of a gist begins that stands for what the user attached."""

SHARE = 0.25
"""What of a node's budget each of these may take."""


def _pinned(material: Material) -> Iterable[str]:
    """Return what user and assistant said that is PRESERVED, and what the user demanded that is not, but for what stands among the recent."""
    window = material.output.window
    recent = "\n".join(f"{turn.user}\n{turn.assistant_summary}" for turn in material.history.recent_turns)
    said = [(turn.role, text) for turn in window.all_turns() for text in _standing(window, turn) if text not in recent]
    for role, label in ((Role.USER, "The user said, and it still holds"), (Role.ASSISTANT, "The assistant said, and it still holds")):
        yield from _within(material, label, [text for each, text in said if each is role], role)


def _standing(window: ContextWindow, turn: Turn) -> Iterable[str]:
    """Return what of a turn holds on: all of it where it is PRESERVED, else what the user demands in it, there or behind a gist."""
    if is_summary(turn):
        return [sentence for line in lines_of([turn]) if _may_demand(line) for sentence in constraint_sentences(line.body)]
    if turn.role not in (Role.USER, Role.ASSISTANT) or attachment_of(turn) is not None:
        return ()
    if window.class_of(turn) is ResourceClass.PRESERVED:
        return filter(None, [turn.text.strip()])
    return constraint_sentences(turn.text) if turn.role is Role.USER else ()


def _may_demand(line: Line) -> bool:
    """Tell whether a line of a gist may be the user's demand: the user's own, or somebody's summary of it."""
    return line.role is Role.USER or (line.kind is not LineKind.CALL and bool(line.standing or not line.label))


def _results(material: Material) -> Iterable[str]:
    """Return the results of tools that somebody pinned: data, for those that read data."""
    window = material.output.window
    pinned = [turn.text for turn in window.all_turns() if turn.role is Role.TOOL and window.class_of(turn) is ResourceClass.PRESERVED]
    return _within(material, "Pinned", pinned, Role.ASSISTANT)


def _rules(material: Material) -> Iterable[str]:
    rules = [turn.text for turn in material.output.window.all_turns() if turn.role is Role.SYSTEM]
    return _within(material, "Rules", rules, Role.SYSTEM)


def _attached(material: Material) -> Iterator[str]:
    """Yield what the user attached: what it holds, or its outline where a gist stands for it."""
    for turn in material.output.window.all_turns():
        attachment = attachment_of(turn)
        if attachment is not None:
            yield from _within(material, f"Attached {one_line(attachment.mention)}", [fenced_text(turn.text)[1]], Role.USER)
        elif is_summary(turn):
            yield from (quoted(line.body).capitalize() for line in lines_of([turn]) if line.body.startswith(_WAS_ATTACHED))


def _gists(material: Material) -> Iterator[str]:
    """Yield what stands in the view for turns that left it: for how many, and what user and assistant said that is not told already.

    What tools answered is no part of a conversation, and not every node may read it.
    """
    history = material.history
    known = "\n".join([history.history_summary, *(turn.lines for turn in history.recent_turns)])
    for turn in material.output.window.all_turns():
        if is_summary(turn):
            lines = [line for line in lines_of([turn]) if line.kind is not LineKind.CALL and not line.body.startswith(_WAS_ATTACHED)]
            said = "\n".join(f"{line.label}: {line.body}".removeprefix(": ") for line in lines if line.body not in known)
            number = f"{len(turn.sources)} earlier messages" if len(turn.sources) > 1 else "earlier messages"
            yield from _within(material, f"In place of {number}", [said or "(told above, or not at all)"], Role.ASSISTANT)


def _within(material: Material, label: str, texts: Sequence[str], role: Role) -> Iterable[str]:
    """Return each text once behind `label`, all together in about a quarter of the node's budget: the longest yield to their demands."""
    counter, room = material.output.window.counter, int(material.node.budget * SHARE)
    texts = list(dict.fromkeys(filter(None, map(str.strip, texts))))
    sizes = list(map(counter.count, texts))
    if sum(sizes) > room:
        texts = [_demands(text, size, room // len(texts)) for text, size in zip(texts, sizes, strict=True)]
    return (f"{label}: {quoted(text)}" for text in _fair(texts, room, role, counter))


def _demands(text: str, size: int, share: int) -> str:
    """Return what `text` demands where it takes more than its `share` and demands anything, else all of it."""
    return "\n".join(constraint_sentences(text)) or text if size > share else text


def _fair(texts: Sequence[str], room: int, role: Role, counter: TokenCounter) -> Iterable[str]:
    """Return the texts in `room` tokens: the short ones whole, the others in what is left."""
    shares = shared(room, list(map(counter.count, texts)))
    told = (condense(text, share, role=role, counter=counter) for text, share in zip(texts, shares, strict=True))
    return filter(None, told)


STANDING = Addition("standing", Section.CONVERSATION, _pinned)
RESULTS = Addition("pinned_results", Section.CONVERSATION, _results, ResourceClass.REQUIRED)
RULES = Addition("rules", Section.CONVERSATION, _rules)
ATTACHED = Addition("attached", Section.CONVERSATION, _attached, ResourceClass.REQUIRED)
GISTS = Addition("gists", Section.CONVERSATION, _gists, ResourceClass.DROPPABLE)
