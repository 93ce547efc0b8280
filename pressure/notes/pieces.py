"""Pieces of text: single lines, whole letters, starts that fit, and excerpts of long texts."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from polycontext.linearity import constraint_sentences
from polycontext.window import TokenCounter

from ..terms import relevance
from .cues import says_failure
from .items import MARK

LONG_WORD = 40
"""The most letters of a word that is never parted."""

_MARK_REACH = 64
_ESCAPE = re.compile(r"\x1b(?:\[[\d;?]{0,20}[A-Za-z]|\][^\x07\n]{0,200}\x07)|\r(?=\n)")
_WORD = re.compile(rf"\S{{1,{LONG_WORD}}}")


def one_line(text: str) -> str:
    """Return `text` with each run of white space replaced by one space."""
    return " ".join(text.split())


def without_escapes(text: str) -> str:
    """Return `text` without a terminal's escape codes, and with line feeds as line ends."""
    return _ESCAPE.sub("", text) if "\x1b" in text or "\r" in text else text


def unnamed(text: str, speaker: str) -> str:
    """Return `text` without the name of its speaker at its beginning.

    >>> unnamed("Ana Li: It is done.", "Ana_Li"), unnamed("Note: It is done.", "Ana_Li")
    (' It is done.', 'Note: It is done.')
    """
    name, _, said = text.partition(":")
    return said if speaker and letters_of(name) == letters_of(speaker) else text


def letters_of(text: str) -> str:
    """Return the letters and digits of a text alone."""
    return "".join(filter(str.isalnum, text))


def whole_letter(text: str, place: int) -> int:
    r"""Return `place`, or the next index that does not split a letter or emoji from its marks.

    >>> whole_letter("e\u0301tude", 1), whole_letter("etude", 1)
    (2, 1)
    """
    last = 0 if text.isascii() else min(len(text), place + _MARK_REACH)
    while 0 < place < last and _is_joined(text[place - 1], text[place]):
        place += 1
    return place


def _is_joined(left: str, right: str) -> bool:
    return (
        "\u200d" in (left, right)
        or unicodedata.category(right)[0] == "M"
        or "\U0001f3fb" <= right <= "\U0001f3ff"
    )


def clip(text: str, max_tokens: int, counter: TokenCounter, mark: str = "") -> str:
    """Return the longest start of `text` that fits; a truncated one ends with `mark`.

    It consists of whole words if at least one fits, otherwise of letters. A word of more than
    `LONG_WORD` letters counts as several.

    Law: ``counter.count(clip(text, n, counter)) <= n``, or the result is empty.

    >>> class Letters:
    ...     exact = True
    ...
    ...     def count(self, text: str) -> int:
    ...         return len(text)
    >>> clip("the second word", 12, Letters()), clip("incomprehensible", 4, Letters())
    ('the second', 'inco')
    """
    whole = len(text.rstrip())

    def started(end: int) -> str:
        return text if end >= whole else f"{text[:end]}{mark}" if end else ""

    def longest(limit: int, end: Callable[[int], int]) -> str:
        number = most(limit, lambda number: counter.count(started(end(number))) <= max_tokens)
        return started(end(number)) if number else ""

    words = [0, *(match.end() for match in _WORD.finditer(text))]
    head = text[: 16 * max_tokens + 16]
    return longest(len(words) - 1, lambda number: whole_letter(text, words[number])) or longest(
        len(head), partial(whole_letter, head)
    )


def most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest number up to `limit` that fits, by bisection, or 0 if none does."""
    return bisect_right(range(1, limit + 1), 0, key=lambda number: not fits(number))


MOST_CHARS, MOST_DEMANDS = 200_000, 400
"""The most characters of a text that is read completely, and the most demands that are found in a
longer one."""

_EDGE, _LONG_LINE, _LINE = 40, 2_000, 40
"""How many lines at either end are kept first, the longest line, and the cost of a line beside its
characters."""


def excerpt(text: str, query: str = "", *, demands: bool = False) -> str:
    r"""Return `text`, or an excerpt if it is long.

    The excerpt has its first and last lines, and between them those most relevant to `query` and
    those that report failures. With `demands`, the sentences that state constraints are appended.

    >>> log = "".join(f"step {n} is done\n" for n in range(100_000))
    >>> found = excerpt(log, "What of step 51234?")
    >>> "step 51234 is done\n[\u2026]" in found, len(found) < len(log) / 5
    (True, True)
    """
    lines = text.splitlines()  # which end not only with "\n"
    if len(text) + _LINE * (len(lines) - 1) <= MOST_CHARS:
        return text
    longest = max(_LONG_LINE, MOST_CHARS // (2 * len(lines)))
    lines = [line if len(line) <= longest else both_ends(line, longest // 2) for line in lines]
    scores = [
        score + says_failure(line.lstrip())
        for score, line in zip(relevance(lines, query), lines, strict=True)
    ]
    inward = sorted(range(len(lines)), key=lambda place: min(place, len(lines) - 1 - place))
    best = sorted(
        (place for place, score in enumerate(scores) if score), key=lambda place: -scores[place]
    )
    kept, size = set[int](), 0
    for place in (*inward[: 2 * _EDGE], *best, *inward):
        if size < MOST_CHARS // 2 and place not in kept:
            kept.add(place)
            size += len(lines[place]) + _LINE
    demanded = constraint_sentences(text)[:MOST_DEMANDS] if demands else ()
    return "\n".join((*_with_marks(lines, sorted(kept)), *demanded))


def both_ends(line: str, half: int) -> str:
    """Return the first and the last `half` characters of a line, with a mark between."""
    first, last = whole_letter(line, half), whole_letter(line, len(line) - half)
    return f"{line[:first]} {MARK} {line[last:]}"


def _with_marks(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    for before, place in pairwise((-1, *kept)):
        if place - before > 1:
            yield MARK
        yield lines[place]
