"""Ranking texts for a query: BM25 and neighbours."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
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
    lengths = dict(enumerate(count.total() for count in counts))
    found = ((len(pairs), pairs) for pairs in uses)
    near = with_neighbours(bm25(found, lengths, len(texts), sum(lengths.values())), lengths)
    return sorted(near, key=lambda place: (-near[place], -place))


def bm25(
    uses: Iterable[tuple[int, Sequence[tuple[int, int]]]],
    lengths: Mapping[int, int],
    turns: int,
    total: int,
) -> dict[int, float]:
    """Return the scores of the turns that use a stem, by their places.

    `uses` has for each stem how many turns use it, and pairs of a turn's place and a number of
    uses. `turns` is the number of all turns and `total` their length. A stem weighs by the square
    of its rarity, once for the turn and once for the query, so that no list of common words is
    needed.

    >>> uses = [(2, [(0, 1), (2, 3)]), (1, [(2, 1)])]
    >>> scores = bm25(uses, {0: 4, 2: 4}, turns=5, total=20)
    >>> scores[2] > scores[0] > 0
    True
    """
    average = total / max(1, turns) or 1.0
    scores: dict[int, float] = {}
    for using, pairs in uses:
        rarity = log(1 + (turns - using + 0.5) / (using + 0.5))
        worth = rarity**2 * (SATURATION + 1)
        for place, count in pairs:
            norm = SATURATION * (1 - BY_LENGTH + BY_LENGTH * lengths[place] / average)
            scores[place] = scores.get(place, 0.0) + worth * count / (count + norm)
    return scores


def with_neighbours(scores: Mapping[int, float], spoken: Container[int]) -> dict[int, float]:
    """Return scores with a share of those of the four turns before and the four behind.

    Only `spoken` turns give a share: calls and their results repeat what somebody looked up.

    >>> with_neighbours({0: 1.0, 1: 0.0, 4: 2.0, 5: 0.0}, {0, 1, 5})
    {0: 1.0, 1: 0.5, 4: 2.0625, 5: 0.0}
    """
    given = {place: score for place, score in scores.items() if place in spoken}
    near = dict(scores)
    for far in range(1, REACH + 1):
        share = NEAR**far
        for place in near:
            # Opposite neighbours are added first, so that the direction makes no difference.
            beside = given.get(place - far, 0.0) + given.get(place + far, 0.0)
            near[place] += share * beside
    return near
