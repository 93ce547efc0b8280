"""The lines of a summary: printed from the units of entries, and parsed from an earlier summary.

The mark ``…`` stands for everything that is left out; nothing else writes it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from polycontext.linearity import constraint_sentences
from polycontext.window import Role, Turn
from polycontext.window.rules import RULES_TITLE

from ..gist import ENDED_TITLE, SUMMARY_END, TEXT_TITLE, unframed
from .pieces import GAP, excerpt, one_line

STANDING, NEXT, CONVERSATION = RULES_TITLE, "Next:", TEXT_TITLE
"""The headings of notes, for what is certain only."""


class Head(Enum):
    """A heading for notes that a model writes, in the order of its summary."""

    TASK = "Task"
    CONSTRAINTS = "Constraints"
    DECISIONS = "Decisions"
    FACTS = "Facts"
    FILES = "Files"
    ERRORS = "Errors"
    DONE = "Done"
    OPEN = "Open"
    NEXT = "Next step"


TITLES = frozenset(
    (STANDING, ENDED_TITLE, NEXT, CONVERSATION, *(f"{head.value}:" for head in Head))
)
"""The headings of notes and of a model's summary, which are not lines of a summary."""

LAWGIVERS = frozenset({Role.USER, Role.SYSTEM})
EARLIER = "earlier: "
"""The prefix of text in an incoming gist that has no trusted speaker."""
_EARLIER_LINE = re.compile(f"^(?:{EARLIER})+")

SPOKEN_LINE = re.compile(r"(?:\[[^\]\s]{1,80}\] )?(system|user|assistant|tool)(?: [^:\n]{1,64})?: ")
CALL_LINE = re.compile(
    r"(?:\[[^\]\s]{1,80}\] )?([\w.-]{1,64})(?:\((.*?)\)(?: -> |\Z)| -> (?=\S))", re.DOTALL
)
NEW_LINE = re.compile(r"\n(?=\S)")

HEADED_FROM = 300
"""The number of tokens from which summaries have headings."""

COUNTED_FROM = 3
"""The number of records from which the mark states how many others are omitted."""

SIZE = -2
"""The place of the size of a text, which no line follows."""

NOTICE = "[text addressed to the assistant{}]"
"""Replaces text from a tool that instructs the assistant; it names the turn to see."""


class Entry(NamedTuple):
    """A line of a summary: its opening, the last turn on it, the role, and the id of that turn.

    `arguments` are those of a call, each complete or a name and ``=`` that units continue; None for
    other entries. A later entry with the same `key` has the current text. `records` is the number
    of records in its result. `changes` states that it is a call that may change something.
    """

    opening: str
    turn: int
    role: str
    id: str
    arguments: tuple[str, ...] | None = None
    key: str = ""
    records: int = 0
    terms: tuple[str, ...] = ()
    cost: int = 0
    changes: bool = False


class Unit(NamedTuple):
    """A whole piece of an entry, or a marked part of a long one, with its position and its context.

    `record` is -1 for the arguments of a call, `item` is the pair and `place` the piece in it.
    `items` is the number of pairs of the record, `pieces` the number of pieces of the pair if they
    belong together. `subject` is the record and the key of a pair. `topic` is what the unit states
    the `value` of: a later unit with the same topic is newer, and replaces this one if it is
    `certain`. `was` is the value that it replaces. `outcome` states that it tells what a call is
    about or what came of it, and `read` that it can be read again. `intended` states that a step is
    no item of a plan, but what its speaker does next.
    """

    entry: int
    record: int
    item: int
    place: int
    turn: int
    text: str
    glue: str
    opens: bool
    ends: bool
    under: int
    hidden: bool
    terms: tuple[str, ...]
    cost: int
    boost: float
    said: bool
    label: str = ""
    close: str = ""
    parent: str = ""
    header: str = ""
    items: int = 1
    pieces: int = 0
    standing: bool = False
    step: bool = False
    subject: str = ""
    was: str = ""
    outcome: bool = False
    read: bool = False
    intended: bool = False
    topic: str = ""
    value: str = ""
    certain: bool = True


def left_out(number: int, what: str) -> str:
    """Return the mark that states how much is left out.

    >>> left_out(1, "line"), left_out(1200, "record")
    ('… 1 line', '… 1,200 records')
    """
    return f"{GAP} {number:,} {what}{'' if number == 1 else 's'}"


class Page:
    """A summary in the making: a line is printed and counted anew only if units on it change.

    With `headed`, standing instructions and next steps come under headings of their own.
    """

    def __init__(
        self, entries: Mapping[int, Entry], units: Sequence[Unit], *, headed: bool = False
    ) -> None:
        self.units = [*units]
        self._entries = entries
        self._places = [
            (0 if headed and unit.standing else 1 if headed and unit.step else _OTHERS, unit.entry)
            for unit in units
        ]
        self._shown = set[int]()
        self._on_line = defaultdict[tuple[int, int], set[int]](set)
        self._lines = dict.fromkeys(sorted({*self._places}), "")

    def text(self, indices: Iterable[int]) -> str:
        """Return the units with these indices as the lines of their entries."""
        return "".join(self._show(indices)).removesuffix("\n")

    def tokens(self, indices: Iterable[int], count: Callable[[str], int]) -> int:
        """Return the sum of the tokens of the lines, which a tokenizer finds for the text, too."""
        *lines, last = self._show(indices)
        return sum(map(count, lines)) + count(last.removesuffix("\n"))

    def _show(self, indices: Iterable[int]) -> list[str]:
        shown, changed = {*indices}, set[tuple[int, int]]()
        for index in shown ^ self._shown:
            place = self._places[index]
            self._on_line[place] ^= {index}
            changed.add(place)
        self._shown = shown
        for place in changed:
            units = [self.units[index] for index in sorted(self._on_line[place])]
            self._lines[place] = f"{_line(self._entries[place[1]], units)}\n" if units else ""
        places = [place for place, line in self._lines.items() if line]
        lines = list[str]()
        for section, group in groupby(places, key=itemgetter(0)):
            lines += [f"{_SECTIONS[section]}\n"] if places[0][0] < _OTHERS else []
            lines += map(self._lines.__getitem__, group)
        return lines


_SECTIONS = (STANDING, NEXT, CONVERSATION)
_OTHERS = 2


def render_notes(
    entries: Mapping[int, Entry], units: Sequence[Unit], *, headed: bool = False
) -> str:
    """Return `units`, which are in order, as the lines of their entries; see `Page`."""
    return Page(entries, units, headed=headed).text(range(len(units)))


def _line(entry: Entry, units: Sequence[Unit]) -> str:
    arguments: dict[int, str] = {}
    records: list[list[Unit]] = []
    for record, each in groupby(units, key=attrgetter("record")):
        if record < 0:
            arguments = _pairs(each, entry)
        else:
            records.append([*each])
    opening, body = opening_of(entry, arguments), "\n".join(_body(entry, records))
    arrow = " -> " if entry.arguments is not None and body else ""
    text = f"{opening}{arrow}{body}"
    # Continuation lines are indented by a space, so that no quoted text can pose as another
    # speaker.
    return text.replace("\n", "\n ") if opening else text


def _body(entry: Entry, records: Sequence[Sequence[Unit]]) -> Iterator[str]:
    """Yield the text of an entry, one line for each record, and a mark for omitted records."""
    named = set[str]()
    told = 0
    for units in records:
        first = units[0]
        pairs = _pairs(units, entry)
        rest = f", {GAP}" if len(pairs) < first.items else ""
        # The parents of records are printed once.
        parent = "" if first.parent in named else first.parent
        named.update((first.parent, f"{first.parent}{first.header}".replace(": ", " ")))
        told += 1
        yield f"{parent}{first.header}{', '.join(pairs.values())}{rest}"
    if 0 < told < entry.records:
        yield left_out(entry.records - told, "record") if told >= COUNTED_FROM else GAP


def _pairs(units: Sequence[Unit] | Iterator[Unit], entry: Entry) -> dict[int, str]:
    return {
        item: pair_text([*each], entry) for item, each in groupby(units, key=lambda unit: unit.item)
    }


def opening_of(entry: Entry, told: Mapping[int, str]) -> str:
    """Return the opening of an entry, for a call with its arguments.

    Arguments in `told` are printed; a mark replaces the others.
    """
    if entry.arguments is None:
        return entry.opening
    shown = (
        told.get(place, text.removesuffix("=") + (f"={GAP}" if text != "=" else GAP))
        if text.endswith("=")
        else text
        for place, text in enumerate(entry.arguments)
    )
    return f"{entry.opening}({', '.join(shown)})"


def pair_text(pieces: Sequence[Unit], entry: Entry) -> str:
    """Return the pieces of a pair or a statement as one text, with a mark for every omission."""
    first, last = pieces[0], pieces[-1]
    text, before = _shown(first, entry), first
    for piece in pieces[1:]:
        joint = (
            piece.glue
            if piece.place == before.place + 1 and before.ends == piece.opens
            else f"\n{GAP} "
            if piece.glue == "\n"
            else f" {GAP} "
        )
        if not (piece.hidden and before.hidden):
            text += joint + _shown(piece, entry)
        before = piece
    is_all = last.place == SIZE or (last.ends and last.place + 1 >= last.pieces)
    begins = first.opens and (first.place == 0 or not first.pieces)
    return (
        f"{first.label}{'' if begins else f'{GAP} '}{text}{'' if is_all else f' {GAP}'}{last.close}"
    )


def _shown(unit: Unit, entry: Entry) -> str:
    if unit.hidden:
        return NOTICE.format(f", see {entry.id}" if entry.id else "")
    return f"{unit.text} (was {unit.was})" if unit.was else unit.text


class SummaryLine(NamedTuple):
    """A line of an earlier summary: its label, speaker, text and standing demands."""

    label: str
    role: Role
    text: str
    is_call: bool = False
    standing: tuple[str, ...] = ()


def parse_summary(gist: Turn) -> Iterator[SummaryLine]:
    """Yield the lines of a summary in the conversation.

    Of a summary that came in from outside, only lines labelled as the user's count as the user's
    words, and none if the assistant sent it. Lines without a label may be the user's, too, if the
    user wrote something that looks like a summary, so their demands are kept.
    """
    trusted, under = bool(gist.sources), ""
    by_model = not trusted and gist.role is Role.ASSISTANT
    text = unframed(gist.text.strip())
    for block in NEW_LINE.split(text if trusted else excerpt(text, demands=True)):
        line = "\n".join(filter(None, map(one_line, block.splitlines())))
        if line in TITLES:
            under = line
        elif line and line != SUMMARY_END and under != ENDED_TITLE:
            is_quoted = under in (STANDING, f"{Head.CONSTRAINTS.value}:")
            told = _parse_line(line, trusted=trusted, is_quoted=is_quoted)
            yield (
                told._replace(label=EARLIER, role=Role.ASSISTANT, standing=()) if by_model else told
            )


def _parse_line(line: str, *, trusted: bool, is_quoted: bool) -> SummaryLine:
    spoken, called = SPOKEN_LINE.match(line), CALL_LINE.match(line)
    if spoken and (trusted or spoken[1] == Role.USER):
        label, role, said = spoken[0], Role(spoken[1]), line[spoken.end() :]
        if role not in LAWGIVERS:
            return SummaryLine(label, role, said)
        # Lines under these headings were checked when the gist was made (`Quotes`).
        is_quote = trusted and role is Role.USER and is_quoted
        return SummaryLine(
            label,
            role,
            said,
            standing=tuple(said.split(f" {GAP} ")) if is_quote else constraint_sentences(said),
        )
    if called:
        return SummaryLine(called[0], Role.TOOL, line[called.end() :], is_call=True)
    if trusted:
        return SummaryLine("", Role.ASSISTANT, line)
    # A line that was read back before keeps one prefix, and whoever spoke it is no user since.
    told = _EARLIER_LINE.sub("", line)
    standing = () if SPOKEN_LINE.match(told) else constraint_sentences(told)
    return SummaryLine(EARLIER, Role.ASSISTANT, told, standing=standing)
