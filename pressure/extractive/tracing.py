"""Find the turns that a line of a gist is from: it says nothing but what they said, so that they can be found by its words."""

from collections.abc import Iterable, Sequence

from polycontext.pressure.extractive.lines import GAP, attached_label, unlabelled
from polycontext.window import Turn
from polycontext.window.text.pairs import CUT, OPENING


def traced(line: str, turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return the turns, in their order, that together say all pieces of `line`; as few as will do, later ones first. None: nobody said it.

    >>> turns = [Turn("user", "Book it."), Turn("assistant", "I booked seat 12A for you. Anything else?")]
    >>> [turn.text for turn in traced("assistant: I booked seat 12A for you.", turns)]
    ['I booked seat 12A for you. Anything else?']
    >>> traced("assistant: I cancelled it.", turns)
    ()
    """
    turns = list(turns)
    attached = [turn for turn in turns if (label := attached_label(turn)) and _is_of(line, label)]
    if attached:
        return (attached[-1],)
    pieces = {piece for part in unlabelled(line) for piece in _pieces(part)}
    said = [(turn, {piece for piece in pieces if piece in text}) for turn in turns if (text := _text_of(turn))]
    found: list[int] = []
    while pieces:
        best = max(range(len(said)), key=lambda place: (len(said[place][1] & pieces), place), default=None)
        if best is None or not said[best][1] & pieces:
            return ()
        pieces -= said[best][1]
        found.append(best)
    return tuple(said[place][0] for place in sorted(found))


def _is_of(line: str, label: str) -> bool:
    """Tell whether `line` begins with the label of an attachment, behind an id or not."""
    return line.startswith(f"{label}:") or (line.startswith("[") and line.partition("] ")[2].startswith(f"{label}:"))


def _pieces(text: str) -> Iterable[str]:
    """Yield what stood in a turn: what is left out falls, and so does what was put around a piece of a value that is not all told."""
    # First the openings: in compact JSON a value begins right behind its name, and what is put before a piece looks like a gap.
    told = OPENING.sub(GAP, text).replace(CUT, GAP)
    for part in told.split(GAP.strip()):
        if piece := " ".join(part.split()):
            yield piece


def _text_of(turn: Turn) -> str:
    said: Sequence[str] = (turn.text, *(f"{call.name}\n{call.arguments}" for call in turn.tool_calls))
    return "\n".join(" ".join(text.split()) for text in said)
