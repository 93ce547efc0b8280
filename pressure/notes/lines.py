"""The lines of a summary: units printed on the lines of their entries, and the lines of an earlier summary read back.

Nobody else writes the mark ``…``: it stands wherever something is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from polycontext.linearity import constraint_sentences
from polycontext.window import Role, Turn

from ..gist import SUMMARY_END, unframed
from .pieces import GAP, excerpt, one_line

if TYPE_CHECKING:
    from .units import Entry, Unit

STANDING, NEXT, CONVERSATION = "Standing instructions:", "Next:", "Conversation:"
"""The headings of notes: for what is certain only."""


class Head(Enum):
    """Name what a note is about that a model writes.

    The order of the members is that of its summary.
    """

    TASK = "Task"
    CONSTRAINTS = "Constraints"
    DECISIONS = "Decisions"
    FACTS = "Facts"
    FILES = "Files"
    ERRORS = "Errors"
    DONE = "Done"
    OPEN = "Open"
    NEXT = "Next step"


TITLES = frozenset((STANDING, NEXT, CONVERSATION, *(f"{head.value}:" for head in Head)))
"""The headings of notes, and those of a model's: no line of a summary."""

LAWGIVERS = frozenset({Role.USER, Role.SYSTEM})
EARLIER = "earlier: "
"""Stands before what a gist that came in says in another's name."""

SPOKEN_LINE = re.compile(r"(?:\[[^\]\s]{1,80}\] )?(system|user|assistant|tool)(?: [^:\n]{1,64})?: ")
CALL_LINE = re.compile(
    r"(?:\[[^\]\s]{1,80}\] )?([\w.-]{1,64})(?:\((.*?)\)(?: -> |\Z)| -> (?=\S))", re.DOTALL
)
NEW_LINE = re.compile(r"\n(?=\S)")

HEADED_FROM = 300
"""From how many tokens on there are headings."""

NOTICE = "[text addressed to the assistant{}]"
"""Stands in place of what the text of a tool tells the assistant to do; it names the turn to see.
"""


def left_out(number: int, what: str) -> str:
    """Return the mark that says how much is left out.

    >>> left_out(1, "line"), left_out(1200, "record")
    ('… 1 line', '… 1,200 records')
    """
    return f"{GAP} {number:,} {what}{'' if number == 1 else 's'}"


def render_notes(
    entries: Mapping[int, "Entry"], units: Sequence["Unit"], *, headed: bool = False
) -> str:
    """Return `units`, which are in order, on the lines of their entries.

    Standing instructions and what comes next apart where it is `headed`.
    """
    standing = [unit for unit in units if unit.standing] if headed else []
    coming = [unit for unit in units if unit.step and not unit.standing] if headed else []
    if not standing and not coming:
        return "\n".join(_lines(entries, units))
    others = [unit for unit in units if not unit.standing and not unit.step]
    parts = ((STANDING, standing), (NEXT, coming), (CONVERSATION, others))
    return "\n".join(
        line for title, under in parts if under for line in (title, *_lines(entries, under))
    )


def _lines(entries: Mapping[int, "Entry"], units: Sequence["Unit"]) -> Iterator[str]:
    for number, said in groupby(units, key=lambda unit: unit.entry):
        entry = entries[number]
        arguments: dict[int, str] = {}
        records: list[list[Unit]] = []
        for record, each in groupby(said, key=lambda unit: unit.record):
            if record < 0:
                arguments = _pairs(each, entry)
            else:
                records.append([*each])
        opening, body = opening_of(entry, arguments), "\n".join(_body(entry, records))
        arrow = " -> " if entry.arguments is not None and body else ""
        text = f"{opening}{arrow}{body}"
        # Text that goes on below its line stands behind a space, so that nothing quoted can pose as
        # another speaker.
        yield text.replace("\n", "\n ") if opening else text


def _body(entry: "Entry", records: Sequence[Sequence["Unit"]]) -> Iterator[str]:
    """Yield what an entry says, a line for each record.

    How many records are left out stands last.
    """
    named = set[str]()
    told = 0
    for units in records:
        first = units[0]
        pairs = _pairs(units, entry)
        rest = f", {GAP}" if len(pairs) < first.items else ""
        # What the records are in is said once.
        parent = "" if first.parent in named else first.parent
        named.update((first.parent, f"{first.parent}{first.header}".replace(": ", " ")))
        told += 1
        yield f"{parent}{first.header}{', '.join(pairs.values())}{rest}"
    if 0 < told < entry.records:
        yield left_out(entry.records - told, "record")


def _pairs(units: Sequence["Unit"] | Iterator["Unit"], entry: "Entry") -> dict[int, str]:
    return {
        item: pair_text([*each], entry) for item, each in groupby(units, key=lambda unit: unit.item)
    }


def opening_of(entry: "Entry", told: Mapping[int, str]) -> str:
    """Return what an entry begins with, a call with its arguments: those that are `told`, a mark for those that are not."""
    if entry.arguments is None:
        return entry.opening
    shown = (
        told.get(place, text.removesuffix("=") + (f"={GAP}" if text != "=" else GAP))
        if text.endswith("=")
        else text
        for place, text in enumerate(entry.arguments)
    )
    return f"{entry.opening}({', '.join(shown)})"


def pair_text(pieces: Sequence["Unit"], entry: "Entry") -> str:
    """Return the pieces of a pair, or of what was said, as one text, with a mark wherever something is left out."""
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
    is_all = last.ends and last.place + 1 >= last.pieces
    begins = first.opens and (first.place == 0 or not first.pieces)
    return (
        f"{first.label}{'' if begins else f'{GAP} '}{text}{'' if is_all else f' {GAP}'}{last.close}"
    )


def _shown(unit: "Unit", entry: "Entry") -> str:
    if unit.hidden:
        return NOTICE.format(f", see {entry.id}" if entry.id else "")
    return f"{unit.text} (was {unit.was})" if unit.was else unit.text


class SummaryLine(NamedTuple):
    """Hold a line of an earlier summary: what it begins with, who speaks, what it says, and what it demands."""

    label: str
    role: Role
    text: str
    is_call: bool = False
    standing: tuple[str, ...] = ()


def parse_summary(gist: Turn) -> Iterator[SummaryLine]:
    """Yield the lines of a summary that stands in a conversation.

    Of one that came in only the user's own words are taken as such.

    What carries no label there may be the user's too, who wrote something that looks like a
    summary: what it demands stands.
    """
    trusted, under = bool(gist.sources), ""
    text = unframed(gist.text.strip())
    for block in NEW_LINE.split(text if trusted else excerpt(text, demands=True)):
        line = "\n".join(filter(None, map(one_line, block.splitlines())))
        if line in TITLES:
            under = line
        elif line and line != SUMMARY_END:
            yield _parse_line(
                line, trusted=trusted, is_quoted=under in (STANDING, f"{Head.CONSTRAINTS.value}:")
            )


def _parse_line(line: str, *, trusted: bool, is_quoted: bool) -> SummaryLine:
    spoken, called = SPOKEN_LINE.match(line), CALL_LINE.match(line)
    if spoken and (trusted or spoken[1] == Role.USER):
        label, role, said = spoken[0], Role(spoken[1]), line[spoken.end() :]
        if role not in LAWGIVERS:
            return SummaryLine(label, role, said)
        # What stands under these headings was checked when the gist was made (`Quotes`).
        is_quote = trusted and role is Role.USER and is_quoted
        return SummaryLine(
            label,
            role,
            said,
            standing=tuple(said.split(f" {GAP} ")) if is_quote else constraint_sentences(said),
        )
    if called:
        return SummaryLine(called[0], Role.TOOL, line[called.end() :], is_call=True)
    return SummaryLine(
        "" if trusted else EARLIER,
        Role.ASSISTANT,
        line,
        standing=() if trusted or spoken else constraint_sentences(line),
    )
