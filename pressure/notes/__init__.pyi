from .cues import asks_about_the_past
from .facts import USER, Fact, Quotes, complete_text, facts_of
from .lines import Head, SummaryLine, parse_summary
from .pieces import clip, excerpt
from .provenance import find_sources
from .ranking import (
    bm25,
    by_relevance,
    folded,
    pairs_in,
    runs_in,
    stem_of,
    stems_in,
    with_neighbours,
    words_in,
)
from .summariser import MOST_CHARS_A_TOKEN, Candidates, ExtractiveSummariser, truncate

__all__ = [
    "MOST_CHARS_A_TOKEN",
    "USER",
    "Candidates",
    "ExtractiveSummariser",
    "Fact",
    "Head",
    "Quotes",
    "SummaryLine",
    "asks_about_the_past",
    "bm25",
    "by_relevance",
    "clip",
    "complete_text",
    "excerpt",
    "facts_of",
    "find_sources",
    "folded",
    "pairs_in",
    "parse_summary",
    "runs_in",
    "stem_of",
    "stems_in",
    "truncate",
    "with_neighbours",
    "words_in",
]
