"""Cut text: into segments, or short. Segments are the smallest pieces a summary takes over, each copied as it stands.

A segment is a sentence, a line, a pair of JSON or, where those run long, a piece
between two words. Cutting is linear in the text and no segment is longer than
`MAX_CHARS`, so that one giant line costs no more than many short ones.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from polycontext.window import TokenCounter

Span = tuple[int, int]
"""Where a piece of a text starts and where it ends, in characters."""

LIMIT = 40
"""A piece half again longer than this many characters is cut near it."""

MIN_CHARS = 20
"""A piece shorter than this joins the next one."""

MAX_CHARS = 300
"""A piece that must stay whole is cut after this many characters all the same."""

LEAD = 32
"""How many characters to its left an identifier keeps: what binds it to its meaning."""

_BOUNDARY = re.compile(r"\n|(?<=[.!?])[\"')\]]{0,3}\s|[。！？；।؟]|(?<=[,}\]])\s?(?=[\"{\[])|\s…(?=\s)")
_SOFT = re.compile(r"[,;:、，]\s?|\s[-–—]\s")
_MARK_REACH = 16
_WORD_REACH = 16
_OPENING = frozenset("\"'`([{<_")


def normalise(text: str) -> str:
    r"""Return `text` with runs of white space as one space, and lines without margins or blank lines.

    >>> normalise("  def f():\n\n\treturn  1 ")
    'def f():\nreturn 1'
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def split(text: str, whole: Sequence[Span] = (), limit: int = LIMIT) -> Iterator[Span]:
    """Yield spans that partition `text`, those of `whole` (ascending, disjoint) as they are up to `MAX_CHARS`, others cut near `limit`.

    >>> text = 'Book HAT136 for me, please. {"id": "ZFA04Y", "passengers": "Mia Li"}'
    >>> [text[start:end] for start, end in split(text)]
    ['Book HAT136 for me, please. ', '{"id": "ZFA04Y", "passengers": "Mia Li"}']
    """
    at = 0
    for start, end in whole:
        yield from _split_plain(text, at, start, limit)
        yield from _pieces(text, start, end, MAX_CHARS)
        at = end
    yield from _split_plain(text, at, len(text), limit)


def _split_plain(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    for match in _BOUNDARY.finditer(text, start, end):
        if match.end() - start >= MIN_CHARS:
            yield from _pieces(text, start, match.end(), limit)
            start = match.end()
    yield from _pieces(text, start, end, limit)


def _pieces(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    while end - start > limit + limit // 2:
        cut = _cut_near(text, start, limit)
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _cut_near(text: str, start: int, limit: int) -> int:
    low, high = start + limit // 2, start + limit + limit // 4
    cut = max((match.end() for match in _SOFT.finditer(text, low, high)), default=0)
    return cut or text.rfind(" ", low, start + limit) + 1 or safe_cut(text, start + limit)


def safe_cut(text: str, cut: int) -> int:
    """Return `cut`, or the nearest place to its left that does not part a letter or an emoji from its marks.

    >>> safe_cut("e\u0301tude", 1), safe_cut("etude", 1)
    (0, 1)
    """
    for place in range(cut, max(cut - _MARK_REACH, -1), -1):
        if place in (0, len(text)) or not _joined(text[place - 1], text[place]):
            return place
    return cut


def _joined(left: str, right: str) -> bool:
    if left.isascii() and right.isascii():
        return False
    return "\u200d" in (left, right) or unicodedata.category(right)[0] == "M" or "\U0001f3fb" <= right <= "\U0001f3ff"


def lead_in(text: str, start: int, anchor: int | None) -> int:
    """Return where to start copying a segment so that what stands at `anchor` keeps `LEAD` characters to its left."""
    if anchor is None or anchor - start >= LEAD:
        return start
    return _word_start(text, max(0, anchor - LEAD))


def _word_start(text: str, place: int) -> int:
    """Return where the word around `place` starts, with a bracket or quotation mark before it; `place` in a very long word."""
    start = place
    while start > 0 and text[start - 1].isalnum():
        start -= 1
        if place - start > _WORD_REACH:
            return safe_cut(text, place)
    return start - 1 if start > 0 and text[start - 1] in _OPENING else safe_cut(text, start)


_UNBROKEN = re.compile(r"\S+")


def clip(text: str, max_tokens: int, counter: TokenCounter) -> str:
    """Return the longest start of `text` found that fits, of whole words where one fits, else of letters.

    Law: ``counter.count(clip(text, n, counter)) <= n``, or the result is empty.

    >>> class Letters:
    ...     exact = True
    ...
    ...     def count(self, text: str) -> int:
    ...         return len(text)
    >>> clip("the second word", 12, Letters()), clip("incomprehensible", 4, Letters())
    ('the second', 'inco')
    """

    def fits(end: int) -> bool:
        return counter.count(text[:end]) <= max_tokens

    ends = [0, *(match.end() for match in _UNBROKEN.finditer(text))]
    words = most(len(ends) - 1, lambda number: fits(ends[number]))
    if words or len(ends) == 1:
        return text[: ends[words]]
    end = safe_cut(text, most(ends[1], fits))
    # A tokenizer may take more tokens for fewer letters, so that what safe_cut gives back need not fit.
    while end and not fits(end):
        end = safe_cut(text, end - 1)
    return text[:end]


def most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest number up to `limit` that fits, by halving; 0 where none does."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
