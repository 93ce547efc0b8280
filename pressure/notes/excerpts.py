"""Excerpts: as much of a long text as is read in detail. Time is linear in the text."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from polycontext.linearity import constraint_sentences

from .cues import says_failure
from .lines import GAP
from .pieces import whole_letter
from .terms import relevance

MOST_CHARS, MOST_DEMANDS = 200_000, 400
"""How many characters a text has that is read whole, and how many demands of a longer one are found."""

_EDGE, _LONG_LINE, _LINE = 40, 2_000, 40
"""How many lines at either end are kept first, how long one is, and what one costs beside its characters."""


def excerpt(text: str, query: str = "", *, demands: bool = False) -> str:
    r"""Return `text`, of a long one its ends and between them the lines that speak most of `query`, those that failed, and what it `demands`.

    >>> log = "".join(f"step {n} is done\n" for n in range(100_000))
    >>> found = excerpt(log, "What of step 51234?")
    >>> "step 51234 is done\n\u2026" in found, len(found) < len(log) / 5
    (True, True)
    """
    if len(text) + _LINE * text.count("\n") <= MOST_CHARS:
        return text
    lines = text.splitlines()
    longest = max(_LONG_LINE, MOST_CHARS // (2 * len(lines)))
    lines = [line if len(line) <= longest else _shortened(line, longest // 2) for line in lines]
    scores = relevance(lines, query) if query else [0.0] * len(lines)
    scores = [score + says_failure(line.lstrip()) for score, line in zip(scores, lines, strict=True)]
    inward = [place for first in range((len(lines) + 1) // 2) for place in (first, len(lines) - 1 - first)]
    best = sorted((place for place, score in enumerate(scores) if score), key=lambda place: -scores[place])
    kept, size = set[int](), 0
    for place in (*inward[: 2 * _EDGE], *best, *inward):
        if size < MOST_CHARS // 2 and place not in kept:
            kept.add(place)
            size += len(lines[place]) + _LINE
    demanded = constraint_sentences(text)[:MOST_DEMANDS] if demands else ()
    return "\n".join((*_with_marks(lines, sorted(kept)), *demanded))


def _shortened(line: str, half: int) -> str:
    first, last = whole_letter(line, half), whole_letter(line, len(line) - half)
    return f"{line[:first]} {GAP} {line[last:]}"


def _with_marks(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    for before, place in pairwise((-1, *kept)):
        if place - before > 1:
            yield GAP
        yield lines[place]
