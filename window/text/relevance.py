"""Rank texts by how much they speak of a question: BM25 (Robertson and Zaragoza 2009) over the terms of the summariser."""

from collections import Counter
from collections.abc import Sequence
from math import log

from polycontext.window.text.terms import plain_terms

_SATURATION = 1.2
"""How soon saying a term again counts no more (k1)."""

_LENGTH = 0.75
"""How far a long text must say a term more often (b)."""


def by_relevance(texts: Sequence[str], query: str) -> list[int]:
    """Return the indices of the texts that share a term with `query`, best first; of equals the later one.

    >>> by_relevance(["The flight is UA100.", "It rains in Vienna.", "Which one?"], "When does UA100 leave?")
    [0]
    """
    asked = set(plain_terms(query))
    counts = [Counter(term for term in plain_terms(text) if term in asked) for text in texts]
    holding = Counter(term for count in counts for term in count)
    weights = {term: log(1 + (len(texts) - holds + 0.5) / (holds + 0.5)) for term, holds in holding.items()}
    average = sum(map(len, texts)) / max(1, len(texts)) or 1.0
    scores = [
        sum(
            weights[term] * times * (_SATURATION + 1) / (times + _SATURATION * (1 - _LENGTH + _LENGTH * len(text) / average))
            for term, times in count.items()
        )
        for text, count in zip(texts, counts, strict=True)
    ]
    return sorted((index for index, score in enumerate(scores) if score > 0), key=lambda index: (-scores[index], -index))
