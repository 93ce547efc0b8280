"""Provenance: the turns that a line of a summary is from.

All pairs, arguments and sentences of the line must be in these turns, or in what a note tells of
them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import define

from polycontext.window import Role, Turn

from .candidates import Candidates
from .events import ATTACHED
from .lines import CALL_LINE, EARLIER, NOTICE, SPOKEN_LINE, TITLES
from .pieces import one_line
from .reading import attached_label, is_observation

_PARTS = re.compile(
    r"\[?…(?: [\d,]+ [\w ]+)?\]?| \(\d+×(?:, the last shown\)|, before: |\))|, |; | -> ?|\n"
    r"|(?<=\S): |[()\[\]{}\"]"
)
_WAS = re.compile(r" \(was ([^)]*)\)")
_NOTICE = re.compile(re.escape(NOTICE).replace(r"\{\}", r"(?:, see (\S+))?"))
_WORD = re.compile(r"\w+")
_ATTACHED = re.compile(rf"(?:\[[^\]\s]{{1,80}}\] )?{ATTACHED} \w+ ")


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
    return _sources(line, turns, _atoms(turns))


def find_sources_of_all(lines: Iterable[str], turns: Iterable[Turn]) -> list[tuple[Turn, ...]]:
    """Return what `find_sources` returns for each line, and read no turn twice."""
    turns = list(turns)
    atoms = [*_atoms(turns)]
    return [_sources(line, turns, atoms) for line in lines]


def _sources(line: str, turns: Sequence[Turn], atoms: "Iterable[_Atom]") -> tuple[Turn, ...]:
    if _ATTACHED.match(line):
        labelled = [(attached_label(turn), turn) for turn in turns]
        return tuple([turn for label, turn in labelled if label and label in line][-1:])
    noticed = {*_NOTICE.findall(line)}
    text = _WAS.sub(r"\n\1\n", _NOTICE.sub("\n", _unlabelled(line)))
    pieces = {piece for part in _PARTS.split(text) if (piece := one_line(part).strip(" ,`"))}
    # Atoms that have no word in common with the pieces are not read.
    words = {max(_WORD.findall(piece), key=len, default="") for piece in pieces}
    said = [
        (atom.places, {piece for piece in pieces if piece in atom.told})
        for atom in atoms
        if any(word in atom.raw for word in words)
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


@define
class _Atom:
    """The indices of an atom's turns, and what they say: `told` is read on first use."""

    places: range
    turns: Sequence[Turn]
    raw: str
    _told: str | None = None

    @property
    def told(self) -> str:
        """Return everything that a note can tell of the atom."""
        if self._told is None:
            items = Candidates().reading(self.turns).items()
            told = (
                text
                for item in items
                for text in (item.before, item.group, item.parent, *item.variants)
            )
            self._told = one_line(" ".join((*told, self.raw)).replace('"', " "))
        return self._told


def _atoms(turns: Sequence[Turn]) -> Iterator[_Atom]:
    start = 0
    for stop in range(1, len(turns) + 1):
        if stop < len(turns) and _answers(turns[stop], turns[stop - 1]):
            continue
        places, start = range(start, stop), stop
        atom = turns[places.start : places.stop]
        raw = "\n".join(
            text
            for turn in atom
            for text in (turn.text, *(f"{call.name} {call.arguments}" for call in turn.tool_calls))
        )
        yield _Atom(places, atom, raw)


def _answers(turn: Turn, before: Turn) -> bool:
    """Return whether a turn has what came of the one before: a result, or a command's output."""
    if turn.role is Role.TOOL:
        return True
    is_after = turn.role is Role.USER and before.role is Role.ASSISTANT
    return is_after and is_observation(turn.text, awaited="```" in before.text)
