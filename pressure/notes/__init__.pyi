from .cutting import MOST_CHARS_A_TOKEN, cut
from .facts import Fact, facts_of
from .pieces import clip
from .summariser import Candidates, ExtractiveSummariser
from .tracing import traced
from .units import Head, Told, told_in

__all__ = [
    "MOST_CHARS_A_TOKEN",
    "Candidates",
    "ExtractiveSummariser",
    "Fact",
    "Head",
    "Told",
    "clip",
    "cut",
    "facts_of",
    "told_in",
    "traced",
]
