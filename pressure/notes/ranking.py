"""Ranking texts for a query: stems, BM25 and neighbours.

Texts and queries are compared by stems: words without case, accents and common endings. Scripts
without spaces between words have nothing to split at, so that their characters and pairs of
characters are stems. No dictionary is needed, and "快递" finds "我的快递在哪里".
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import log
from unicodedata import category, combining, normalize

from .terms import UNSPACED

SATURATION, BY_LENGTH = 1.2, 0.75
"""The parameters k1 and b of BM25 (Robertson and Zaragoza, 2009)."""

NEXT, SECOND = 0.4, 0.2
"""The shares of its neighbours' scores that a turn also gets: a question is near its answer, and
few turns repeat what the conversation is about."""

_LONGEST_STEM = 64
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")

# --- words and stems --------------------------------------------------------------------


def stems_in(text: str) -> Iterator[str]:
    """Yield the stems of `text`, with repeats.

    In scripts without spaces between words, each character and each pair of characters is one.

    >>> list(stems_in("My parcels: 快递"))
    ['my', 'parcel', '快', '递', '快递']
    """
    for run in runs_in(text):
        if _is_unspaced(run):
            yield from run
            yield from map("".join, pairwise(run))
        else:
            yield stem_of(run)


def stem_of(word: str) -> str:
    """Return a word without a common ending; words in other than Latin letters stay as they are.

    >>> [stem_of(word) for word in ("parties", "party", "planned", "planning", "moves", "moved")]
    ['parti', 'parti', 'plan', 'plan', 'mov', 'mov']
    """
    # What is longer is no word, and would fill the cache.
    return _stem_of(word) if len(word) <= _LONGEST_STEM else word[:_LONGEST_STEM]


@lru_cache(50_000)
def _stem_of(word: str) -> str:
    if len(word) < _SHORTEST_INFLECTED or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in _ENDINGS:
        root = word.removesuffix(ending)
        if root != word and len(root) >= _SHORTEST_ROOT:
            doubled = root[-1] == root[-2] and root[-1] not in "aeiousl"
            word = root[:-1] if doubled else root
            break
    return word[:-1] + "i" if word.endswith("y") else word.removesuffix("e")


_ENDINGS = ("ingly", "edly", "ing", "ed", "ly", "ment", "er", "e")
_SHORTEST_INFLECTED, _SHORTEST_ROOT = 4, 3


def runs_in(text: str) -> Iterator[str]:
    """Yield the words of `text`, and the runs of characters of scripts without spaces."""
    for word in text.translate(_FOLDED_WORDS).split():
        if word.isascii():
            yield word
        else:
            yield from _RUN.findall(word)


def words_in(text: str) -> Iterator[str]:
    """Yield the words of `text`; each character of a script without spaces is one."""
    return chain.from_iterable(run if _is_unspaced(run) else (run,) for run in runs_in(text))


def pairs_in(run: str) -> Iterable[str]:
    """Return a run as one word, or the pairs of its characters if its script has no spaces."""
    return map("".join, pairwise(run)) if len(run) > 1 and _is_unspaced(run) else (run,)


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _UNSPACED.match(run) is not None


class _Bare(dict[int, str]):
    """A cache of each character in lower case and without accents, as one character."""

    def __missing__(self, code: int) -> str:
        parts = normalize("NFD", chr(code))
        # Hangul syllables decompose into letters, which are not accents.
        self[code] = bare = (parts[0] if all(map(combining, parts[1:])) else chr(code)).lower()[0]
        return bare


class _FoldedWords(dict[int, str | None]):
    """A cache of each character of a word, folded; others become a space, and accents nothing."""

    def __missing__(self, code: int) -> str | None:
        kind = category(chr(code))
        in_word = kind[0] in "LN" or kind in {"Co", "Mn", "Mc"}
        self[code] = found = None if code in _ACCENTS else _BARE[code] if in_word else " "
        return found


_ACCENTS = range(0x300, 0x370)
_BARE, _FOLDED_WORDS = _Bare(), _FoldedWords()


def folded(text: str) -> str:
    """Return `text` in lower case and without accents, with the same length."""
    return text.lower() if text.isascii() else text.translate(_BARE)


# --- scores -----------------------------------------------------------------------------


def by_relevance(texts: Sequence[str], query: str) -> list[int]:
    """Return the indices of the texts that share a stem with `query`, best first, then newest."""
    asked = dict.fromkeys(stem_of(word) for run in runs_in(query) for word in pairs_in(run))
    counts = [Counter(stems_in(text)) for text in texts]
    uses = (
        [(place, count[stem]) for place, count in enumerate(counts) if stem in count]
        for stem in asked
    )
    scores = bm25(uses, [count.total() for count in counts])
    near = with_neighbours(scores, [True] * len(texts))
    matching = (place for place, score in enumerate(scores) if score)
    return sorted(matching, key=lambda place: (-near[place], -place))


def bm25(uses: Iterable[Sequence[tuple[int, int]]], lengths: Sequence[int]) -> list[float]:
    """Return the score of each turn from the lengths of all turns and the uses of each stem.

    Uses are pairs of a turn's index and a number. A stem weighs by the square of its rarity, once
    for the turn and once for the query, so that no list of common words is needed.

    >>> scores = bm25([[(0, 1), (2, 3)], [(2, 1)]], [4, 4, 4, 4, 4])
    >>> scores[2] > scores[0] > scores[1] == 0.0
    True
    """
    average = sum(lengths) / max(1, len(lengths)) or 1.0
    norms = [SATURATION * (1 - BY_LENGTH + BY_LENGTH * length / average) for length in lengths]
    scores = [0.0] * len(lengths)
    for pairs in uses:
        rarity = log(1 + (len(lengths) - len(pairs) + 0.5) / (len(pairs) + 0.5))
        worth = rarity**2 * (SATURATION + 1)
        for place, count in pairs:
            scores[place] += worth * count / (count + norms[place])
    return scores


def with_neighbours(scores: Sequence[float], spoken: Sequence[bool]) -> list[float]:
    """Return scores with a share of those of the two turns before and the two behind.

    Calls and their results give no share: they repeat what somebody looked up.

    >>> with_neighbours([1.0, 0.0, 0.0, 0.0, 2.0], [True, True, True, True, False])
    [1.0, 0.4, 0.2, 0.0, 2.0]
    """
    given = [score if is_spoken else 0.0 for score, is_spoken in zip(scores, spoken, strict=True)]
    wide = [0.0, 0.0, *given, 0.0, 0.0]
    # Opposite neighbours are added first, so that the score does not depend on the direction.
    return [
        own + NEXT * (before + behind) + SECOND * (first + last)
        for own, first, before, behind, last in zip(
            scores, wide, wide[1:], wide[3:], wide[4:], strict=False
        )
    ]
