"""Cut the entries of a node context to a token budget.

DROPPABLE entries are dropped first; then REQUIRED entries are replaced in place by notes.

Unlike a conversation, a context has sections. A note therefore stands only for adjacent entries and
never crosses a heading. It gives their short forms, or an extract where an entry has none. Each
build starts from the full entries, so nothing is summarised twice.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby

from attrs import define, frozen

from polycontext.base import CallerError
from polycontext.linearity import ResourceClass
from polycontext.pressure import ExtractiveSummariser
from polycontext.window import Role, TokenCounter, Turn

from ..condensation import share_out
from ..prompt_text import MARK, Entry, pin, quote
from ..prompts import Template
from ..prompts.builder import package_prompts
from .node import Section

NOTHING = "(nothing yet)"
"""The text of a section without entries."""

LEFT_OUT = "(left out)"
"""The text of a part whose entries were all dropped."""

EXTRACT_SHARE = 0.25
"""The share of an entry without a short form that a cut aims to keep."""

_PART = "### "
_SPEAKER = re.compile(r"^assistant: ", re.MULTILINE)
_EXTRACTIVE = ExtractiveSummariser()


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


@frozen
class Fitted:
    """The text that a node reads, its tokens, and the numbers of condensed and dropped entries."""

    text: str
    tokens: int
    gisted: int = 0
    dropped: int = 0


def fit(
    node: str,
    sections: Mapping[Section, Sequence[Entry]],
    task: str,
    budget: int,
    counter: TokenCounter,
    *,
    frame: Template | None = None,
) -> Fitted:
    """Return the prompt text of the sections' entries and of `task` in at most `budget` tokens.

    PRESERVED entries are kept verbatim, REQUIRED entries give way to notes, and DROPPABLE entries
    are dropped first. Within a class the earliest entries give way first.

    Raises:
        NodeBudgetError: The entries that must stay take more than `budget`.
    """
    places = {each.name.lower(): sections.get(each) or [pin(NOTHING)] for each in Section}
    places |= {"task": [pin(task)], "": []}
    entries, said = list[Entry](), ""
    for literal, name in (*(frame or package_prompts().frame).pieces, ("", "")):
        said += literal
        if name is not None:
            # The entries of a section stand on lines of their own.
            text = said.removeprefix("\n").removesuffix("\n")
            entries += *([pin(text)] if text else []), *places[name]
            said = ""
    return _Cut(entries, counter).fit(node, budget)


@frozen
class _Note:
    """A note in place of adjacent entries that gave way; its length depends on the room it gets."""

    entries: Sequence[Entry]
    counter: TokenCounter

    @property
    def head(self) -> str:
        return f"[{len(self.entries)} earlier, cut]"

    @property
    def whole(self) -> str:
        return "\n".join(entry.text for entry in self.entries)

    @property
    def shorts(self) -> Sequence[str]:
        """Return the short forms of the entries, or an empty list unless every entry has one."""
        shorts = [entry.short for entry in self.entries]
        return shorts if all(shorts) else []

    @property
    def most(self) -> int:
        """Return the most tokens the note's words can use; it stays shorter than its entries."""
        spare = self.counter.count(self.whole) - self.counter.count(self.head) - 1
        if not (shorts := self.shorts):
            return spare
        return min(
            spare, self.counter.count("; ".join(shorts)) + _room_of_count(shorts, self.counter)
        )

    def text(self, room: int) -> str:
        """Return the note with at most `room` tokens of words after its head."""
        words = self._words(room) if room > 0 else ""
        said = "\n".join(line.strip().removeprefix(MARK) for line in words.splitlines())
        return f"{self.head} {quote(said)}".rstrip()

    def _words(self, room: int) -> str:
        if shorts := self.shorts:
            return _join_shorts(shorts, room, self.counter)
        turns = [Turn(Role.ASSISTANT, entry.text) for entry in self.entries if entry.text.strip()]
        said = _EXTRACTIVE.summarise(turns, room, counter=self.counter) if turns else ""
        return _SPEAKER.sub("", said)


def _room_of_count(shorts: Sequence[str], counter: TokenCounter) -> int:
    return counter.count(f"({len(shorts)} more); ")


def _join_shorts(shorts: Sequence[str], max_tokens: int, counter: TokenCounter) -> str:
    """Return as many of the latest short forms as fit, and a count of the earlier ones left out.

    Return an empty text if none fits.
    """
    # Reserve room for the count from the start: there may be none left for it at the end.
    room = max_tokens - _room_of_count(shorts, counter)
    retained: list[str] = []
    for short in reversed(shorts):
        room -= counter.count(f"; {short}" if retained else short)
        if room < 0:
            break
        retained.append(short)
    more = [f"({len(shorts) - len(retained)} more)"] if 0 < len(retained) < len(shorts) else []
    return "; ".join([*more, *reversed(retained)])


@frozen
class _Cut:
    """Entries to be cut: the more of them give way, in a fixed order, the shorter the text."""

    entries: Sequence[Entry]
    counter: TokenCounter

    @cached_property
    def order(self) -> Sequence[int]:
        """Return the positions of the entries that may give way, in the order in which they do."""
        yielding = (ResourceClass.DROPPABLE, ResourceClass.REQUIRED)
        return [
            place
            for each in yielding
            for place, entry in enumerate(self.entries)
            if entry.resource_class is each
        ]

    @cached_property
    def sizes(self) -> Sequence[int]:
        """Return the token count of each entry, including its line break."""
        return [self.counter.count(f"{entry.text}\n") for entry in self.entries]

    def fit(self, node: str, budget: int) -> Fitted:
        """Return the text with the fewest entries cut whose notes still hold their short forms.

        If no such cut fits, cut every entry that may give way.
        """
        whole = self.counter.count(text := _render_text([entry.text for entry in self.entries]))
        cut = Fitted(text, whole)
        if whole <= budget:
            return cut
        most = len(self.order)
        share = sum(self.sizes) / whole
        first = bisect_left(
            range(most), -budget * share, key=lambda count: -self._estimate_tokens(count)
        )
        for count in range(first, most + 1):
            cut = self._fill_notes(self.order[:count], budget)
            if cut.tokens <= budget:
                return cut
        raise NodeBudgetError(node, cut.tokens, budget)

    def _estimate_tokens(self, count: int) -> int:
        """Estimate the tokens of the text if the first `count` entries in order give way."""
        gone, tokens = set(self.order[:count]), 0
        for place, entry in enumerate(self.entries):
            if place not in gone:
                tokens += self.sizes[place]
            elif entry.resource_class is ResourceClass.REQUIRED:
                said = (
                    self.counter.count(f"; {entry.short}")
                    if entry.short
                    else int(self.sizes[place] * EXTRACT_SHARE)
                )
                starts = place - 1 not in gone
                tokens += min(
                    self.sizes[place],
                    said + starts * self.counter.count("[9 earlier, cut] (9 more); \n"),
                )
        return tokens

    def _fill_notes(self, gone: Collection[int], budget: int) -> Fitted:
        """Return the text without the entries `gone`, with the free budget spent on its notes."""
        blocks = list(self._blocks(set(gone)))
        wants = [block.most for block in blocks if isinstance(block, _Note)]
        gisted = sum(len(block.entries) for block in blocks if isinstance(block, _Note))
        dropped = sum(
            self.entries[place].resource_class is ResourceClass.DROPPABLE for place in gone
        )
        text = _render_blocks(blocks, [0] * len(wants))
        tokens = self.counter.count(text)
        pool = budget - tokens
        # A text may count more than the sum of its parts: take the excess off the notes' room.
        while pool > 0:
            longer = _render_blocks(blocks, share_out(pool, wants))
            over = (taken := self.counter.count(longer)) - budget
            if over <= 0:
                return Fitted(longer, taken, gisted, dropped)
            pool -= over
        return Fitted(text, tokens, gisted, dropped)

    def _blocks(self, gone: Collection[int]) -> Iterator[str | _Note]:
        """Yield the remaining entries' texts, with notes for adjacent cut entries if shorter."""
        left = [
            place
            for place, entry in enumerate(self.entries)
            if place not in gone or entry.resource_class is ResourceClass.REQUIRED
        ]
        for yields, places in groupby(left, gone.__contains__):
            entries = [self.entries[place] for place in places]
            if yields and (note := _Note(entries, self.counter)).most > 0:
                yield note
            else:
                yield from (entry.text for entry in entries)


def _render_blocks(blocks: Sequence[str | _Note], rooms: Iterable[int]) -> str:
    """Return the prompt, with the given number of tokens for the words of each note."""
    room = iter(rooms)
    return _render_text(
        [block.text(next(room)) if isinstance(block, _Note) else block for block in blocks]
    )


def _render_text(blocks: Sequence[str]) -> str:
    """Return the prompt, with `LEFT_OUT` in each emptied part.

    A blank line begins what the frame says between two sections.
    """
    lines: list[str] = []
    for block, following in zip(blocks, [*blocks[1:], ""], strict=True):
        lines.append(block)
        if block.startswith(_PART) and following.startswith((_PART, "\n")):
            lines.append(LEFT_OUT)
    return "\n".join(lines)
