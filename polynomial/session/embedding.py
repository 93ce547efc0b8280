"""Search by meaning, beside the words of a query (docs/history.md, "Search by meaning")."""

from collections.abc import Sequence
from typing import Any, Protocol

from polycontext.base import require
from polycontext.pressure.ranking import with_neighbours

from ..journal.log import Log
from ..stores.search_query import said
from ..stores.word_index import is_spoken

FIRST_RANK = 60
"""What is added to a turn's rank before its reciprocal is taken (reciprocal rank fusion; Cormack,
Clarke and Büttcher, 2009)."""

BY_MEANING = 0.5
"""What a rank by meaning is worth beside one by words, which find more (`just bench search`)."""


class Embedder(Protocol):
    """A model that makes vectors of texts, so that texts of similar meaning are found."""

    def embed(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return a vector for each text, in any form that `compare` reads."""
        ...

    def compare(self, vectors: Sequence[Any], query: str) -> Sequence[float]:
        """Return how similar each vector is to the one of `query`; 0 or less is not similar."""
        ...


class Embeddings:
    """The vectors of a log, made by the first search and updated by later ones."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Any] = {}

    def rank(self, log: Log, query: str) -> list[int]:
        """Return the places of the turns of `log` that are similar to `query`, most similar first.

        Neighbours count as they do in a search for words.
        """
        texts = [said(turn) for turn in log]
        known = self._vectors
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            vectors = self._embedder.embed(new)
            _require_each("embed", vectors, new)
            known = {**known, **dict(zip(new, vectors, strict=True))}
        # Only what the log still has is kept.
        self._vectors = {text: known[text] for text in texts}
        similar = self._embedder.compare([known[text] for text in texts], query) if texts else ()
        _require_each("compare", similar, texts)
        spoken = {place for place, turn in enumerate(log) if is_spoken(turn)}
        own = {place: max(0.0, score) for place, score in enumerate(similar)}
        scores = with_neighbours(own, spoken)
        places = [place for place, score in scores.items() if score > 0]
        return sorted(places, key=lambda place: (-scores[place], -place))


def _require_each(method: str, returned: Sequence[Any], texts: Sequence[str]) -> None:
    is_complete = len(returned) == len(texts)
    require(f"embedder.{method}", len(returned), is_complete, f"{len(texts)}, one for each text")


def fused(by_words: Sequence[int], by_meaning: Sequence[int]) -> dict[int, float]:
    """Return the scores of the places in two rankings, best first, then newest.

    >>> list(fused([3, 1], [1, 2]))
    [1, 3, 2]
    """
    scores = {place: 1 / (FIRST_RANK + rank) for rank, place in enumerate(by_words)}
    for rank, place in enumerate(by_meaning):
        scores[place] = scores.get(place, 0.0) + BY_MEANING / (FIRST_RANK + rank)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], -item[0])))
