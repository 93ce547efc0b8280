"""Ranking texts for a query: BM25 and neighbours."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from .stems import pairs_in, runs_in, stem_of, stems_in

SATURATION, BY_LENGTH = 1.2, 0.75
"""The parameters k1 and b of BM25 (Robertson and Zaragoza, 2009)."""

NEAR, REACH = 0.5, 4
"""The share of a turn's score that the next turn on each side gets, halved with each turn up to the
last that gets one: a question is near its answer, and few turns repeat what it is about."""


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
    """Return scores with a share of those of the four turns before and the four behind.

    Calls and their results give no share: they repeat what somebody looked up.

    >>> with_neighbours([1.0, 0.0, 0.0, 0.0, 2.0, 0.0], [True, True, True, True, False, True])
    [1.0, 0.5, 0.25, 0.125, 2.0625, 0.0]
    """
    given = [score if is_spoken else 0.0 for score, is_spoken in zip(scores, spoken, strict=True)]
    wide = [*[0.0] * REACH, *given, *[0.0] * REACH]
    near = list(scores)
    for far in range(1, REACH + 1):
        # Opposite neighbours are added first, so that the score does not depend on the direction.
        near = [
            own + NEAR**far * (before + behind)
            for own, before, behind in zip(
                near, wide[REACH - far :], wide[REACH + far :], strict=False
            )
        ]
    return near
