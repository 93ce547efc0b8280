"""Cut the entries of a node context to a token budget, by the plans that cut a window.

The entries stand in a window of their own, headings and task PRESERVED between them, so
that no gist reaches over a heading; the projector does the rest. Where entries yield, their
short forms stand for them, as many as there is room for, or an extract. None is
ever summarised twice: each build starts from the whole entries.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field, frozen

from polycontext.linearity import CallerError, ResourceClass
from polycontext.nodes.builders.node import Section
from polycontext.nodes.fitting import write_within
from polycontext.nodes.prompt_text import MARK, Entry, quoted
from polycontext.pressure import ContextProjector, ExtractiveSummariser, Reach, Summariser
from polycontext.window import ContextWindow, Role, TokenCounter, Turn

SHORT = "short"
"""The metadata key of an entry's short form."""

_SPEAKER = re.compile(r"^assistant: ", re.MULTILINE)


@frozen
class ShortForms:
    """Summarise entries by their short forms, the latest first where not all fit; entries without one by an extract."""

    otherwise: Summariser = field(factory=ExtractiveSummariser)

    def summarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        """Return at most `max_tokens` tokens that stand for `turns`."""
        shorts = [str(turn.metadata.get(SHORT, "")) for turn in turns]
        if not all(shorts):
            return _SPEAKER.sub("", self.otherwise.summarise(turns, max_tokens, counter=counter, query=query))
        return _joined(shorts, max_tokens, counter)


def _joined(shorts: Sequence[str], max_tokens: int, counter: TokenCounter) -> str:
    """Return the most of the latest short forms that fits, and how many are not among them."""
    # Room for the count is kept from the start, needed or not: in the end there may be none left for it.
    room = max_tokens - counter.count(f"({len(shorts)} more); ")
    kept: list[str] = []
    for short in reversed(shorts):
        room -= counter.count(f"; {short}")
        if room < 0:
            break
        kept.append(short)
    more = [f"({len(shorts) - len(kept)} more)"] if len(kept) < len(shorts) else []
    return "; ".join([*more, *reversed(kept)])


def gist_note(gist: Turn) -> str:
    """Return the text of `gist` as a node reads it: how many entries it stands for, and what is left of them, quoted."""
    # The first line is the gist's own header, for readers of a conversation.
    _, _, body = gist.text.partition("\n")
    said = "\n".join(line.strip().removeprefix(MARK) for line in body.splitlines())
    return f"[{len(gist.sources)} earlier, cut] {quoted(said)}"


NOTHING = "(nothing yet)"
"""What a section says that has no entries."""

LEFT_OUT = "(left out)"
"""What a part says of which every entry was dropped."""

_SECTIONS = (*(f"## {section}" for section in Section), "---")
_PART = "### "
_PROJECTOR = ContextProjector(ShortForms(), Reach(keep_recent=0))


@define(slots=False, eq=False)
class NodeBudgetError(CallerError, ValueError):
    """Say that a node's context cannot get within its budget: what must stay takes more."""

    node: str
    needed: int
    budget: int

    def __str__(self) -> str:
        return f"the context of node {self.node!r} needs {self.needed} tokens; legal: a budget of at least that, not {self.budget}"


@frozen
class Fitted:
    """Hold the text that a node reads, its tokens, what it took uncut, and how many entries stand as gists or not at all."""

    text: str
    tokens: int
    tokens_uncut: int
    gisted: int = 0
    dropped: int = 0


def fit(node: str, sections: Mapping[Section, Sequence[Entry]], task: str, budget: int, counter: TokenCounter) -> Fitted:
    """Return the prompt text of the sections' entries and of `task` in at most `budget` tokens.

    PRESERVED entries stay word for word, REQUIRED ones yield to gists, DROPPABLE ones go first;
    within a class the first entries yield first.

    Raises:
        NodeBudgetError: what must stay takes more than `budget`.
        InvalidOptionError: `budget` is no number of tokens.
    """
    window = ContextWindow(budget, counter=counter)
    for section in Section:
        heading = Entry(f"## {section}", resource_class=ResourceClass.PRESERVED)
        for entry in (heading, *(sections.get(section) or [Entry(NOTHING, resource_class=ResourceClass.PRESERVED)])):
            window = window.append(Turn(Role.ASSISTANT, entry.text, metadata={SHORT: entry.short}), entry.resource_class)
    window = window.append(Turn(Role.USER, f"---\n## Your Task\n{task}"), ResourceClass.PRESERVED)
    written = write_within(window, budget, _text, counter.count, _PROJECTOR)
    if written.tokens > budget:
        raise NodeBudgetError(node, written.tokens, budget)
    did = written.compression
    if did is None:
        return Fitted(written.text, written.tokens, written.tokens)
    return Fitted(written.text, written.tokens, counter.count(_text(window.all_turns())), len(did.gisted), len(did.dropped))


def _text(turns: Iterable[Turn]) -> str:
    """Return the prompt: a blank line before each section, gists marked as what they are, a part that is gone as well."""
    blocks = [gist_note(turn) if turn.is_gist else turn.text for turn in turns]
    lines: list[str] = []
    for block, following in zip(blocks, [*blocks[1:], ""], strict=True):
        lines.append(f"\n{block}" if lines and block.startswith(_SECTIONS) else block)
        if block.startswith(_PART) and following.startswith((_PART, *_SECTIONS)):
            lines.append(LEFT_OUT)
    return "\n".join(lines)
