from .cues import asks_about_the_past
from .excerpts import excerpt
from .facts import Fact, completed, facts_of, facts_of_plan
from .pieces import clip
from .provenance import traced
from .summariser import Candidates, ExtractiveSummariser
from .terms import UNSPACED, by_relevance
from .truncation import MOST_CHARS_A_TOKEN, cut
from .units import Head, Told, told_in

__all__ = [
    "MOST_CHARS_A_TOKEN",
    "UNSPACED",
    "Candidates",
    "ExtractiveSummariser",
    "Fact",
    "Head",
    "Told",
    "asks_about_the_past",
    "by_relevance",
    "clip",
    "completed",
    "cut",
    "excerpt",
    "facts_of",
    "facts_of_plan",
    "told_in",
    "traced",
]
