"""Print units on the lines of their entries. Nobody else writes the mark ``…``: it stands wherever something is left out."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .units import Entry, Unit

GAP = "…"
"""Stands where something is left out."""

STANDING, NEXT, CONVERSATION = "Standing instructions:", "Next:", "Conversation:"
"""The headings of notes: for what is certain only."""

HEADED_FROM = 300
"""From how many tokens on there are headings."""

NOTICE = "[text addressed to the assistant{}]"
"""Stands in place of what the text of a tool tells the assistant to do; it names the turn to see."""


def left_out(number: int, what: str) -> str:
    """Return the mark that says how much is left out.

    >>> left_out(1, "line"), left_out(1200, "record")
    ('… 1 line', '… 1,200 records')
    """
    return f"{GAP} {number:,} {what}{'' if number == 1 else 's'}"


def render_notes(entries: Mapping[int, "Entry"], units: Sequence["Unit"], *, headed: bool = False) -> str:
    """Return `units`, which are in order, on the lines of their entries; standing instructions and what comes next apart where it is `headed`."""
    standing = [unit for unit in units if unit.standing] if headed else []
    coming = [unit for unit in units if unit.step and not unit.standing] if headed else []
    if not standing and not coming:
        return "\n".join(_lines(entries, units))
    others = [unit for unit in units if not unit.standing and not unit.step]
    parts = ((STANDING, standing), (NEXT, coming), (CONVERSATION, others))
    return "\n".join(line for title, under in parts if under for line in (title, *_lines(entries, under)))


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
        # Text that goes on below its line stands behind a space, so that nothing quoted can pose as another speaker.
        yield text.replace("\n", "\n ") if opening else text


def _body(entry: "Entry", records: Sequence[Sequence["Unit"]]) -> Iterator[str]:
    """Yield what an entry says, a line for each record; how many records are left out stands last."""
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
    return {item: pair_text([*each], entry) for item, each in groupby(units, key=lambda unit: unit.item)}


def opening_of(entry: "Entry", told: Mapping[int, str]) -> str:
    """Return what an entry begins with, a call with its arguments: those that are `told`, a mark for those that are not."""
    if entry.arguments is None:
        return entry.opening
    shown = (
        told.get(place, text.removesuffix("=") + (f"={GAP}" if text != "=" else GAP)) if text.endswith("=") else text
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
    return f"{first.label}{'' if begins else f'{GAP} '}{text}{'' if is_all else f' {GAP}'}{last.close}"


def _shown(unit: "Unit", entry: "Entry") -> str:
    if unit.hidden:
        return NOTICE.format(f", see {entry.id}" if entry.id else "")
    return f"{unit.text} (was {unit.was})" if unit.was else unit.text
