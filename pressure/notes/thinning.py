"""Thinning: the pieces of a long text that tell most, in order, with marks for the others."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from .items import MARK, left_out, ranged
from .output import says_failure
from .prose import sentences_of

LONG_LINE = 240
"""A line of more characters is read as sentences, and is never picked."""

SHORT_LINE = 10
"""The most characters of a line that is told between two others: as many as its mark takes."""

_DEFINES = re.compile(
    r"\s*(?:\d+(?:→|│|\t|:\s)\s*)?"
    r"(?:async |export |public |private |static |pub |default |abstract )*(?:"
    r"def|class|fn|func|function|interface|type|struct|enum|module|defmodule|defp|describe|impl|trait)\b"
)
CODE = re.compile(
    r"[;{}]\s*$|^\s*(?:def|class|import|from|return|if|for|const|let|var|end|fn|func)\b|=>|\)\s*:?\s*$"
)
"""What defines something, and lines of code, in which a word such as "error" reports nothing."""

_CODED, _LEAST_CODE = 0.3, 12
"""The share of such lines in code, and of how many lines at least."""

_ENDING = 160
"""The characters of the last pieces that go first."""

_LOOKED_AT = 300
"""The characters that tell what a piece is."""

_HEADING = re.compile(r"\s*(?:#{1,6} \S|\*\*[^*\n]{1,120}\*\*:?$)|[^\n]{1,160}[:：]\s*$")
_LISTED = re.compile(r"\s*(?:[-*+•▪‣|]|\d{1,3}[.)])\s*\S")
_NUMBER = re.compile(r"\s*\d{1,3}[.)]\s")
_COUNTED = re.compile(r"\[…(?: ([\d,]+) [\w ]+)?\]\Z")
_FIGURE, _WORD = re.compile(r"\d"), re.compile(r"\w")
_NAME = re.compile(r"`[^`\n]+`|\w[_./@-]\w|[a-z][A-Z]|\b[A-Z]{3,}\b|(?<=[a-z,;] )[A-Z]\w{2,}")


class Piece(NamedTuple):
    """A line of a text, or a sentence of a long one: `line` numbers the line."""

    line: int
    text: str


def pieces_of(text: str) -> Iterator[Piece]:
    """Yield the lines of a text that are not blank, and the sentences of long ones."""
    for number, line in enumerate(filter(str.strip, text.splitlines())):
        if len(line) <= LONG_LINE:
            yield Piece(number, line.rstrip())
        else:
            yield from (Piece(number, sentence) for sentence in sentences_of(line))


def printed(pieces: Sequence[Piece], kept: Sequence[int]) -> str:
    """Return the pieces `kept`; each gap is a line that counts it, or a mark inside a line."""
    texts, shown = list[str](), {*kept}
    for place in kept:
        if place + 2 in shown and len(pieces[place + 1].text) <= SHORT_LINE:
            shown.add(place + 1)
    for before, place in pairwise((-1, *sorted(shown), len(pieces))):
        gap = pieces[before + 1 : place]
        omitted = [piece.line for piece in gap]
        line = pieces[before].line if before >= 0 else -1
        following = pieces[place] if place < len(pieces) else None
        if before >= 0 and line in omitted:
            texts[-1] += f" {MARK}"
        if number := len({*omitted} - {line, following.line if following else -1}):
            # A mark that is left out stands for what it counts.
            number += count_lines([piece.text for piece in gap]) - len(gap)
            texts.append(left_out(number, "line"))
        if following is None:
            break
        if before >= 0 and following.line == line:
            texts[-1] += f" {following.text}"
        else:
            texts.append(
                f"{MARK} {following.text}" if following.line in omitted else following.text
            )
    return "\n".join(_merged(texts))


def count_lines(lines: Sequence[str]) -> int:
    """Return the number of lines; a mark stands for those that it counts."""
    marks = filter(None, map(_COUNTED.match, lines))
    return len(lines) + sum(int((mark[1] or "1").replace(",", "")) - 1 for mark in marks)


def _merged(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with one mark for each run of marks."""
    for is_mark, run in groupby(lines, lambda line: _COUNTED.match(line) is not None):
        told = [*run]
        yield from [left_out(count_lines(told), "line")] if is_mark and told[1:] else told


def thin(text: str, chars: int) -> str:
    r"""Return lines and sentences of `text` with about `chars` characters, the others marked.

    The paragraphs of the first and last go first, then those with failures and figures, then those
    with items and names. A heading stands with what follows it or not at all. The first stays,
    however long.

    >>> print(thin("Report\n\nSome words.\nOther words.\n## Costs\n- rent 900", 26))
    Report
    [… 2 lines]
    ## Costs
    - rent 900
    """
    pieces = [*pieces_of(text)]
    if sum(len(piece.text) + 1 for piece in pieces) <= chars + 1:
        return printed(pieces, range(len(pieces)))
    order = order_of(pieces)
    blocks = [] if _is_code(pieces) else _blocks_of(text, pieces)
    if len(blocks) < 2:  # noqa: PLR2004 - one block is no choice
        return printed(pieces, _best([[place] for place in order], pieces, chars))
    # What stands together is told together: single lines of many paragraphs tell nothing.
    rank = {place: at for at, place in enumerate(order)}
    best = sorted(blocks, key=lambda block: min(rank[place] for place in block))
    return printed(pieces, _best(best, pieces, chars))


def _best(runs: Sequence[Sequence[int]], pieces: Sequence[Piece], chars: int) -> list[int]:
    """Return the places in the first runs that fit, of each as much from its start as fits.

    A heading does not stand alone.
    """
    kept, left = {0}, chars - len(pieces[0].text)
    for run in runs:
        new = [place for place in run if place not in kept]
        sizes = accumulate(len(pieces[place].text) + 1 for place in new)
        new = new[: sum(size <= left for size in sizes)]
        while new and new[-1] != run[-1] and _is_heading(pieces[new[-1]]):
            new.pop()
        kept.update(new)
        left -= sum(len(pieces[place].text) + 1 for place in new)
    return [*kept]


def _blocks_of(text: str, pieces: Sequence[Piece]) -> list[list[int]]:
    """Return the places of each paragraph's pieces; what a heading is about stands with it."""
    starts, number = set[int](), 0
    for before, line in pairwise(("", *text.splitlines())):
        if line.strip():
            starts |= {number} if not before.strip() else set()
            number += 1
    blocks = list[list[int]]()
    for place, piece in enumerate(pieces):
        is_first = not place or piece.line != pieces[place - 1].line
        is_new = is_first and (piece.line in starts or _is_heading(piece))
        if not blocks or (is_new and not _is_heading(pieces[blocks[-1][-1]])):
            blocks.append([])
        blocks[-1].append(place)
    return blocks


def _is_heading(piece: Piece) -> bool:
    return _HEADING.match(piece.text[:_LOOKED_AT]) is not None


def thinned(text: str, *sizes: int) -> tuple[str, ...]:
    """Return `text` and what `thin` leaves of it for smaller `sizes`, from long to short."""
    return ranged([text, *(thin(text, size) for size in sizes if size < len(text))])


def _is_code(pieces: Sequence[Piece]) -> bool:
    coded = sum(CODE.search(piece.text[:_LOOKED_AT]) is not None for piece in pieces)
    return coded >= _CODED * max(_LEAST_CODE, len(pieces))


def order_of(pieces: Sequence[Piece]) -> list[int]:
    """Return the places of pieces, the most telling first.

    The first and last line come first, then failures, figures, and items and names, or the
    definitions in code; a sentence stands for itself wherever it is. A line without a word comes
    last.
    """
    places = range(len(pieces))
    are_lines = bool(pieces) and pieces[-1].line >= len(pieces) - 1
    first = {pieces[place].text: place for place in reversed(places)}
    is_code = _is_code(pieces)
    # Who pastes something asks for something behind it, in a few sentences of one line.
    sizes = accumulate(len(p.text) for p in reversed(pieces) if p.line == pieces[-1].line)
    ending = len(pieces) - sum(size <= _ENDING for size in sizes)

    def rank(place: int) -> int:
        text = pieces[place].text[:_LOOKED_AT]
        is_again = not is_code and first[pieces[place].text] < place
        if not _WORD.search(text):  # a rule, or a bracket
            return 6
        if (are_lines and place in (0, len(pieces) - 1)) or (place >= ending and not is_again):
            return 0
        if is_again:
            return 5
        if _DEFINES.match(text) if is_code else says_failure(text):
            return 1
        if not is_code and _FIGURE.search(_NUMBER.sub("", text)):
            return 2
        return 3 if _LISTED.match(text) or _NAME.search(text) else 4

    return sorted(places, key=lambda place: (rank(place), place))
