"""Shorten one text until it fits a number of tokens."""

import re
from collections.abc import Callable

from polycontext.pressure.extractive.segments import safe_cut
from polycontext.window import TokenCounter

_WORD = re.compile(r"\S+")


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

    ends = [0, *(match.end() for match in _WORD.finditer(text))]
    words = _most(len(ends) - 1, lambda number: fits(ends[number]))
    if words or len(ends) == 1:
        return text[: ends[words]]
    end = safe_cut(text, _most(ends[1], fits))
    # A tokenizer may take more tokens for fewer letters, so that what safe_cut gives back need not fit.
    while end and not fits(end):
        end = safe_cut(text, end - 1)
    return text[:end]


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest number up to `limit` that fits, by halving; 0 where none does."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
