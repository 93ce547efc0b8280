"""Splitting text into whole pieces: sentences of prose, and lines of code or of a log.

A piece that is split further states on which side.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from polycontext.linearity import constraint_sentences
from polycontext.linearity.classification import sentence_ends
from polycontext.window import TokenCounter

from ..terms import relevance
from .cues import says_failure

GAP = "…"
"""Stands for omitted text."""

LONGEST_LINE, LONGEST_SENTENCE = 320, 90
"""The most characters of a line of code and of a sentence of prose that is not split. Prose is
split between clauses."""

_SHORT = 24
"""A sentence that is shorter than this is joined to the next one of its line."""

_WRAPPED = 55
"""A line of at least this many characters was wrapped if the next one goes on in lower case."""

_HEAD = re.compile(
    r"^(?:export )?(?:async )?(?:class|def|func|fn|function|interface|struct|impl|module)\b"
    r"|^\[[\w .\"-]{1,60}\]$|^#{1,6} |^(?!\d+:)[^{}]*[^:]:[*_]*$"
)
_LISTED = re.compile(r"[-*•] |\d{1,3}[.)] ")
_CODE = re.compile(r"[={}<>/\\|_]")
_GOES_ON = re.compile(r"[a-z,]")
_CLAUSE_END = re.compile(
    r"[,;:—–、，]\s?|\s(?=(?:and|but|because|so|which|that|when|if|while|since|although|for|to"
    r"|with)\s)"
)
_SOFT = re.compile(r"[,;:、，]\s?|\s[-–—]\s|[\s/&|]")
_MARK_REACH = 64


Hides = Callable[[Sequence[str]], Iterable[bool]]
"""Returns for each of consecutive sentences whether its words must not be shown."""


class Piece(NamedTuple):
    """A piece of text, with the separator before it and whether a unit begins and ends with it.

    `under` is the index of the piece that heads this one (a class, or the head of a list), or -1.
    `hidden` states that its words must not be shown.
    """

    text: str
    glue: str = " "
    opens: bool = True
    ends: bool = True
    under: int = -1
    hidden: bool = False


def split(text: str, hides: Hides | None = None) -> Iterator[Piece]:
    r"""Yield the sentences and lines of `text` with normalised white space.

    `hides` decides which sentences are hidden.

    >>> [piece.text for piece in split("I need it today, Mr. Bell. Can you do that?\n  ok = 1")]
    ['I need it today, Mr. Bell.', 'Can you do that?', 'ok = 1']
    """
    glue, number = "", 0
    heads: list[tuple[int, int]] = []
    lines = [(indent, line, [*_sentences(line)]) for indent, line in _lines(text)]
    hidden_ones = iter(
        hides([sentence for _, _, sentences in lines for sentence in sentences]) if hides else ()
    )
    for indent, line, sentences in lines:
        while heads and heads[-1][0] >= indent:
            heads.pop()
        under = heads[-1][1] if heads else -1
        for sentence in sentences:
            hidden = next(hidden_ones, False)
            is_long = len(sentence) > LONGEST_SENTENCE and not hidden
            for piece in _parted(sentence, glue) if is_long else (Piece(sentence, glue),):
                yield piece._replace(under=under, hidden=hidden) if hidden or under >= 0 else piece
                number += 1
            glue = " "
        glue = "\n"
        if len(line) <= LONGEST_SENTENCE and _HEAD.match(line):
            heads.append((indent, number - 1))


def sentences_in(pieces: Iterable[Piece]) -> list[list[str]]:
    """Return the sentences of each line of a text that was split into `pieces`."""
    lines: list[list[str]] = []
    for piece in pieces:
        if piece.glue == "\n" or not lines:
            lines.append([])
        if piece.opens:
            lines[-1].append(piece.text)
        else:
            lines[-1][-1] += f"{piece.glue}{piece.text}"
    return lines


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines without margins or blank ones, each with its indent.

    A wrapped sentence is joined into one line.
    """
    whole: list[str] = []
    indent = 0
    for raw in text.splitlines():
        line = one_line(raw)
        if not line:
            continue
        if whole and _goes_on(whole[-1], line):
            whole.append(line)
            continue
        if whole:
            yield indent, " ".join(whole)
        section = line.startswith(("#", "["))
        whole, indent = (
            [line],
            -1 if section else len(raw) - len(raw.lstrip()) + (1 if _LISTED.match(line) else 0),
        )
    if whole:
        yield indent, " ".join(whole)


def _goes_on(line: str, below: str) -> bool:
    wrapped = len(line) >= _WRAPPED and _GOES_ON.match(below) and _GOES_ON.match(line[-1])
    return bool(wrapped) and not _CODE.search(line) and not _CODE.search(below)


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for end in sentence_ends(line):
        if end - start > _SHORT:
            yield line[start:end].strip()
            start = end
    if last := line[start:].strip():
        yield last


def _parted(text: str, glue: str) -> Iterator[Piece]:
    """Yield the pieces of a long sentence or line: prose between clauses, other text anywhere."""
    limit, soft = (LONGEST_LINE, _SOFT) if _CODE.search(text) else (LONGEST_SENTENCE, _CLAUSE_END)
    start = 0
    while len(text) - start > limit:
        low, high = start + limit // 3, start + limit
        end = next((match.end() for match in soft.finditer(text, low, high)), 0)
        end = end or next(
            (match.end() for match in _SOFT.finditer(text, start + limit * 2 // 3, high + limit)),
            high,
        )
        end = whole_letter(text, end)
        if end >= len(text.rstrip()):
            break
        yield Piece(text[start:end].rstrip(), glue, start == 0, ends=False)
        glue, start = (" " if text[end - 1].isspace() else ""), end
    yield Piece(text[start:], glue, start == 0)


def one_line(text: str) -> str:
    """Return `text` with each run of white space replaced by one space."""
    return " ".join(text.split())


def unnamed(text: str, speaker: str) -> str:
    """Return `text` without the name of its speaker at its beginning.

    >>> unnamed("Ana Li: It is done.", "Ana_Li"), unnamed("Note: It is done.", "Ana_Li")
    (' It is done.', 'Note: It is done.')
    """
    name, _, said = text.partition(":")
    return said if speaker and _letters(name) == _letters(speaker) else text


def _letters(text: str) -> str:
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

    It consists of whole words if at least one fits, otherwise of letters.

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

    words = [0, *(match.end() for match in re.finditer(r"\S+", text))]
    head = text[: 16 * max_tokens + 16]
    return longest(len(words) - 1, words.__getitem__) or longest(
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
    >>> "step 51234 is done\n\u2026" in found, len(found) < len(log) / 5
    (True, True)
    """
    lines = text.splitlines()  # which end not only with "\n"
    if len(text) + _LINE * (len(lines) - 1) <= MOST_CHARS:
        return text
    longest = max(_LONG_LINE, MOST_CHARS // (2 * len(lines)))
    lines = [line if len(line) <= longest else _shortened(line, longest // 2) for line in lines]
    scores = [
        score + says_failure(line.lstrip())
        for score, line in zip(relevance(lines, query), lines, strict=True)
    ]
    inward = [
        place for first in range((len(lines) + 1) // 2) for place in (first, len(lines) - 1 - first)
    ]
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


def _shortened(line: str, half: int) -> str:
    first, last = whole_letter(line, half), whole_letter(line, len(line) - half)
    return f"{line[:first]} {GAP} {line[last:]}"


def _with_marks(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    for before, place in pairwise((-1, *kept)):
        if place - before > 1:
            yield GAP
        yield lines[place]
