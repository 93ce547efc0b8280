"""Cut the entries of a node context to a token budget.

DROPPABLE entries are dropped first; then REQUIRED entries are replaced in place by notes.

Unlike a conversation, a context has sections. A note therefore stands only for adjacent entries and
never crosses a heading. It gives their short forms, or an extract where an entry has none. Each
build starts from the full entries, so nothing is summarised twice.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby

from attrs import define

from polycontext.base import CallerError
from polycontext.linearity import ResourceClass
from polycontext.window import TokenCounter

from ..condensation import condense
from ..prompt_text import MARK, Entry, pin, quote
from ..prompts import Template
from ..prompts.builder import package_prompts
from .node import Section

NOTHING = "(nothing yet)"
"""The text of a section without entries."""

LEFT_OUT = "(left out)"
"""The text of a part whose entries were all dropped."""

_EXTRACT_SHARE = 0.25
"""The share that a note keeps of entries without short forms, as long as room suffices."""

_LENGTHS = 16
"""The lengths of the notes that are tried once every entry that may give way has done so."""

_PART = "### "


@define(slots=False, eq=False)
class NodeBudgetError(CallerError, ValueError):
    """Raised when the entries that must stay take more tokens than a node's budget."""

    node: str
    needed: int
    budget: int

    def __str__(self) -> str:
        return (
            f"the context of node {self.node!r} needs {self.needed} tokens, "
            f"but its budget is {self.budget}. Raise the budget."
        )


def fit(
    node: str,
    sections: Mapping[Section, Sequence[Entry]],
    task: str,
    budget: int,
    counter: TokenCounter,
    *,
    frame: Template | None = None,
) -> tuple[str, int]:
    """Return the prompt text of the sections' entries and of `task`, and its tokens.

    PRESERVED entries are kept verbatim, REQUIRED entries give way to notes, and DROPPABLE entries
    are dropped first. Within a class the earliest entries give way first, and no more than must. If
    all have given way, the notes become shorter.

    Raises:
        NodeBudgetError: The entries that must stay take more than `budget`.
    """
    entries = _in_frame(sections, task, frame or package_prompts().frame)
    order = [
        place
        for each in (ResourceClass.DROPPABLE, ResourceClass.REQUIRED)
        for place, entry in enumerate(entries)
        if entry.resource_class is each
    ]
    steps = [(count, 1.0) for count in range(len(order) + 1)]
    steps += [(len(order), length / _LENGTHS) for length in reversed(range(_LENGTHS))]

    @cache
    def size_of(place: int) -> int:
        return counter.count(f"{entries[place].text}\n")

    @cache
    def cut(step: int) -> tuple[str, int]:
        count, length = steps[step]
        text = _render(list(_blocks(entries, size_of, {*order[:count]}, length, counter)))
        return text, counter.count(text)

    # In most cases nothing has to give way.
    most = len(steps) if cut(0)[1] > budget else 1
    step = bisect_left(range(most), -budget, key=lambda step: -cut(step)[1])
    if step == len(steps):
        raise NodeBudgetError(node, cut(step - 1)[1], budget)
    return cut(step)


def _in_frame(
    sections: Mapping[Section, Sequence[Entry]], task: str, frame: Template
) -> Sequence[Entry]:
    """Return the entries of a whole prompt: what the frame says, the sections, and the task."""
    places = {each.name.lower(): sections.get(each) or [pin(NOTHING)] for each in Section}
    places |= {"task": [pin(task)], "": []}
    entries, said = list[Entry](), ""
    for literal, name in (*frame.pieces, ("", "")):
        said += literal
        if name is not None:
            # The entries of a section stand on lines of their own.
            text = said.removeprefix("\n").removesuffix("\n")
            entries += *([pin(text)] if text else []), *places[name]
            said = ""
    return entries


def _blocks(
    entries: Sequence[Entry],
    size_of: Callable[[int], int],
    gone: Collection[int],
    length: float,
    counter: TokenCounter,
) -> Iterator[str]:
    """Yield the remaining entries' texts, with notes for adjacent cut entries if shorter."""
    left = [
        place
        for place, entry in enumerate(entries)
        if place not in gone or entry.resource_class is ResourceClass.REQUIRED
    ]
    for gives_way, group in groupby(left, gone.__contains__):
        places = [*group]
        held = [entries[place] for place in places]
        if gives_way:
            size = sum(map(size_of, places))
            note = _note(held, int(length * _EXTRACT_SHARE * size), length, counter)
            if counter.count(note) < size:
                yield note
                continue
        yield from (entry.text for entry in held)


def _note(entries: Sequence[Entry], room: int, length: float, counter: TokenCounter) -> str:
    """Return a note in place of adjacent entries: their short forms, or an extract in some tokens.

    A length of 1 has all of the short forms, 0 has none.
    """
    shorts = [entry.short for entry in entries]
    if all(shorts):
        kept = shorts[len(shorts) - int(length * len(shorts)) :]
        more = [f"({len(shorts) - len(kept)} more)"] if 0 < len(kept) < len(shorts) else []
        words = "; ".join([*more, *kept])
    else:
        words = condense("\n".join(entry.text for entry in entries), room, counter=counter)
    said = "\n".join(line.strip().removeprefix(MARK) for line in words.splitlines())
    return f"[{len(entries)} earlier, cut] {quote(said)}".rstrip()


def _render(blocks: Sequence[str]) -> str:
    """Return the prompt, with `LEFT_OUT` in each emptied part.

    A blank line begins what the frame says between two sections.
    """
    lines: list[str] = []
    for block, following in zip(blocks, [*blocks[1:], ""], strict=True):
        lines.append(block)
        if block.startswith(_PART) and following.startswith((_PART, "\n")):
            lines.append(LEFT_OUT)
    return "\n".join(lines)
