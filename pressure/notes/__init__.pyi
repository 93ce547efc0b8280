from .facts import Fact, complete_text, facts_of
from .lines import TITLES, Head, SummaryLine, parse_summary
from .pieces import clip, excerpt
from .provenance import find_sources
from .summariser import Candidates, ExtractiveSummariser
from .truncation import MOST_CHARS_A_TOKEN, truncate

__all__ = [
    "MOST_CHARS_A_TOKEN",
    "TITLES",
    "Candidates",
    "ExtractiveSummariser",
    "Fact",
    "Head",
    "SummaryLine",
    "clip",
    "complete_text",
    "excerpt",
    "facts_of",
    "find_sources",
    "parse_summary",
    "truncate",
]
