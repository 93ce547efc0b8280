"""Find the turns that a line of a gist is from: it says nothing but what they said, so that they can be found by its words."""

from collections.abc import Iterable, Sequence

from polycontext.pressure.extractive.lines import GAP, unlabelled
from polycontext.window import Turn
from polycontext.window.text.pairs import OPENING


def traced(line: str, turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return the turns, in their order, that together say all pieces of `line`; as few as will do, later ones first. None: nobody said it.

    >>> turns = [Turn("user", "Book it."), Turn("assistant", "I booked seat 12A for you. Anything else?")]
    >>> [turn.text for turn in traced("assistant: I booked seat 12A for you.", turns)]
    ['I booked seat 12A for you. Anything else?']
    >>> traced("assistant: I cancelled it.", turns)
    ()
    """
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


def _pieces(text: str) -> Iterable[str]:
    """Yield what stood in a turn: what is left out falls, and so does the name put before a piece from the middle of a value."""
    for part in text.split(GAP.strip()):
        if piece := " ".join(OPENING.sub("", part).removeprefix('"').split()):
            yield piece


def _text_of(turn: Turn) -> str:
    said: Sequence[str] = (turn.text, *(f"{call.name}\n{call.arguments}" for call in turn.tool_calls))
    return "\n".join(" ".join(text.split()) for text in said)
