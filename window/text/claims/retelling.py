"""Retellings: short texts that tell again, changed, what an earlier one told; likely the newer of two, too little is known to say so."""

from collections import Counter
from collections.abc import Container, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain

MOST_SHARING = 8
"""A term that more texts than this share tells none of them."""

_FEWEST_SHARED, _LEAST_SHARED = 2, 0.5


def retold(texts: Mapping[int, AbstractSet[int]], names: Container[int] = ()) -> dict[int, int]:
    """Return for each text (its terms, by number, in order) that tells again what an earlier one told the last such one.

    They share rare terms, at least two and half of those that the one with more has, and are not the same. One that has
    another of `names` than the earlier one is about another thing.

    >>> retold({1: {10, 11, 12, 13}, 2: {20, 21, 22}, 3: {10, 11, 12, 14}, 4: {20, 21, 22}})
    {3: 1}
    >>> retold({1: {10, 11, 12, 13}, 3: {10, 11, 12, 14}}, names={13})
    {}
    """
    common = {term for term, count in Counter(chain.from_iterable(texts.values())).items() if count > MOST_SHARING}
    telling: dict[int, list[int]] = {}
    found: dict[int, int] = {}
    rare = {number: terms - common for number, terms in texts.items()}
    for number, terms in rare.items():
        shared = Counter(chain.from_iterable(telling.get(term, ()) for term in terms))
        alike = [
            earlier
            for earlier, count in shared.items()
            if count >= max(_FEWEST_SHARED, _LEAST_SHARED * max(len(terms), len(rare[earlier])))
            and texts[earlier] != texts[number]
            and not any(term in names for term in rare[earlier] - terms)
        ]
        if alike:
            found[number] = max(alike)
        for term in terms:
            telling.setdefault(term, []).append(number)
    return found
