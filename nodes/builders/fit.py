"""Cut the pieces of a node context to a token budget, by the plans that cut a window.

The pieces stand in a window of their own, headings and task PRESERVED between them, so
that no gist reaches over a heading; the projector does the rest. Pieces are never
summarised twice: each build starts from the whole pieces.
"""

from collections.abc import Iterable, Sequence

from attrs import define, frozen

from polycontext.linearity import CallerError, ResourceClass
from polycontext.nodes._fitting import write_within
from polycontext.nodes.builders._gists import SHORT, ShortForms, gist_note
from polycontext.nodes.builders.pieces import Piece, Section
from polycontext.pressure import ContextProjector, Reach
from polycontext.window import ContextWindow, Role, TokenCounter, Turn

NOTHING = "(nothing yet)"
"""What a section says that has no pieces."""

LEFT_OUT = "(left out)"
"""What a part says of which every piece was dropped."""

_SECTIONS = (*(f"## {section}" for section in Section), "---")
_PART = "### "
_PROJECTOR = ContextProjector(ShortForms(), Reach(keep_recent=0, gist_share=0.5))


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
    """Hold the text that a node reads, its tokens, what it took uncut, and how many pieces stand as gists or not at all."""

    text: str
    tokens: int
    tokens_uncut: int
    gisted: int = 0
    dropped: int = 0


def fit(node: str, pieces: Sequence[Piece], task: str, budget: int, counter: TokenCounter) -> Fitted:
    """Return the prompt text of `pieces` and `task` in at most `budget` tokens.

    PRESERVED pieces stay word for word, REQUIRED ones yield to gists, DROPPABLE ones go first;
    within a class the first pieces yield first.

    Raises:
        NodeBudgetError: what must stay takes more than `budget`.
        InvalidOptionError: `budget` is no number of tokens.
    """
    window = _window(pieces, task, budget, counter)
    written = write_within(window, budget, _text, counter.count, _PROJECTOR)
    if written.tokens > budget:
        raise NodeBudgetError(node, written.tokens, budget)
    did = written.compression
    if did is None:
        return Fitted(written.text, written.tokens, written.tokens)
    return Fitted(written.text, written.tokens, counter.count(_text(window.all_turns())), len(did.gisted), len(did.dropped))


def _window(pieces: Iterable[Piece], task: str, budget: int, counter: TokenCounter) -> ContextWindow:
    sections: dict[Section, list[Piece]] = {section: [Piece(section, f"## {section}", ResourceClass.PRESERVED)] for section in Section}
    for piece in pieces:
        sections[piece.section].append(piece)
    window = ContextWindow(budget, counter=counter)
    for section, standing in sections.items():
        nothing = [] if standing[1:] else [Piece(section, NOTHING, ResourceClass.PRESERVED)]
        for piece in (*standing, *nothing):
            window = window.append(Turn(Role.ASSISTANT, piece.text, metadata={SHORT: piece.short}), piece.resource_class)
    return window.append(Turn(Role.USER, f"---\n## Your Task\n{task}"), ResourceClass.PRESERVED)


def _text(turns: Iterable[Turn]) -> str:
    """Return the prompt: a blank line before each section, gists marked as what they are, a part that is gone as well."""
    blocks = [gist_note(turn) if turn.is_gist else turn.text for turn in turns]
    lines: list[str] = []
    for block, following in zip(blocks, [*blocks[1:], ""], strict=True):
        lines.append(f"\n{block}" if lines and block.startswith(_SECTIONS) else block)
        if block.startswith(_PART) and following.startswith((_PART, *_SECTIONS)):
            lines.append(LEFT_OUT)
    return "\n".join(lines)
