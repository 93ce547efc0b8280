from .questions import asked_by, asks_about_the_past
from .scores import bm25, by_relevance, with_neighbours
from .stems import folded, pairs_in, runs_in, stem_of, stems_in, words_in

__all__ = [
    "asked_by",
    "asks_about_the_past",
    "bm25",
    "by_relevance",
    "folded",
    "pairs_in",
    "runs_in",
    "stem_of",
    "stems_in",
    "with_neighbours",
    "words_in",
]
