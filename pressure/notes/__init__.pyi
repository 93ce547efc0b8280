from .cues import asks_about_the_past
from .facts import Fact, Quotes, completed, facts_of
from .pieces import clip, excerpt
from .provenance import traced
from .summariser import MOST_CHARS_A_TOKEN, Candidates, ExtractiveSummariser, cut
from .terms import UNSPACED, by_relevance
from .units import Head, Told, told_in

__all__ = [
    "MOST_CHARS_A_TOKEN",
    "UNSPACED",
    "Candidates",
    "ExtractiveSummariser",
    "Fact",
    "Head",
    "Quotes",
    "Told",
    "asks_about_the_past",
    "by_relevance",
    "clip",
    "completed",
    "cut",
    "excerpt",
    "facts_of",
    "told_in",
    "traced",
]
