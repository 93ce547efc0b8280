from .cues import asks_about_the_past
from .cutting import MOST_CHARS_A_TOKEN, cut
from .excerpts import excerpt
from .facts import Fact, completed, facts_of, facts_of_plan
from .pieces import clip
from .summariser import Candidates, ExtractiveSummariser
from .terms import by_relevance
from .tracing import traced
from .units import Head, Told, told_in

__all__ = [
    "MOST_CHARS_A_TOKEN",
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
