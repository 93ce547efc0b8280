"""Provenance: the turns that a line of a summary is from.

All pairs, arguments and sentences of the line must be in the notes of these turns.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from polycontext.window import EstimatingCounter, Role, Turn

from .lines import CALL_LINE, EARLIER, NOTICE, SPOKEN_LINE, TITLES, render_notes
from .pieces import GAP, one_line
from .units import ATTACHED, attached_label, parse_turns

_PARTS = re.compile(
    rf"{GAP}(?: [\d,]+ (?:line|record|letter|argument)s?\b)?|, | -> |\n|(?<=\S): |[()\[\]{{}}\"]"
)
_WAS = re.compile(r" \(was ([^)]*)\)")
_NOTICE = re.compile(re.escape(NOTICE).replace(r"\{\}", r"(\S+)"))
_WORD = re.compile(r"\w+")


def find_sources(line: str, turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return the fewest turns, in order, that together contain all pieces of `line`.

    Later turns are preferred. The result is empty if no turn contains some piece.

    >>> turns = [
    ...     Turn("user", "Book it."),
    ...     Turn("assistant", "I booked seat 12A for you. Anything else?"),
    ... ]
    >>> [turn.text for turn in find_sources("assistant: I booked seat 12A for you.", turns)]
    ['I booked seat 12A for you. Anything else?']
    >>> find_sources("assistant: I cancelled it.", turns)
    ()
    """
    turns = list(turns)
    if line.partition("] ")[2 if line.startswith("[") else 0].startswith(ATTACHED):
        labelled = [(attached_label(turn), turn) for turn in turns]
        return tuple([turn for label, turn in labelled if label and f"{label}:" in line][-1:])
    noticed = {*_NOTICE.findall(line)}
    text = _WAS.sub(rf" {GAP} \1 {GAP} ", _NOTICE.sub(GAP, _unlabelled(line)))
    pieces = {piece for part in _PARTS.split(text) if (piece := one_line(part).strip(" ,"))}
    said = [
        (places, {piece for piece in pieces if piece in told})
        for places, told in _atoms(turns, pieces)
    ]
    found = {place for place, turn in enumerate(turns) if turn.resource_id in noticed}
    while pieces:
        best = max(
            range(len(said)), key=lambda place: (len(said[place][1] & pieces), place), default=None
        )
        if best is None or not said[best][1] & pieces:
            return ()
        pieces -= said[best][1]
        found.update(said[best][0])
    return tuple(turns[place] for place in sorted(found))


def _unlabelled(line: str) -> str:
    if line.strip() in TITLES:
        return ""
    line = line.removeprefix(EARLIER)
    spoken = SPOKEN_LINE.match(line)
    if spoken and not CALL_LINE.match(line):
        return line[spoken.end() :]
    # The id of a turn comes before the text, in brackets.
    return re.sub(r"\A\[[^\]\s]{1,80}\] ", "", line)


def _atoms(turns: Sequence[Turn], pieces: Iterable[str]) -> Iterator[tuple[range, str]]:
    """Yield the indices of an atom's turns and the text of their notes.

    Atoms that have no word in common with `pieces` are left out.
    """
    words = {max(_WORD.findall(piece), key=len, default="") for piece in pieces}
    start = 0
    for stop in range(1, len(turns) + 1):
        if stop < len(turns) and turns[stop].role is Role.TOOL:
            continue
        places, start = range(start, stop), stop
        atom = turns[places.start : places.stop]
        raw = "\n".join(
            text
            for turn in atom
            for text in (turn.text, *(f"{call.name} {call.arguments}" for call in turn.tool_calls))
        )
        if any(word in raw for word in words):
            told = f"{render_notes(*parse_turns(atom, 0, 0, EstimatingCounter()))} {raw}"
            yield places, one_line(told.replace('"', " "))
