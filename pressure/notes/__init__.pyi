from .candidates import Candidates
from .facts import Fact, complete_text, facts_of, identifiers_of
from .items import Section
from .lines import TITLES, SummaryLine, parse_summary
from .pieces import clip, excerpt
from .provenance import find_sources, find_sources_of_all
from .summariser import ExtractiveSummariser
from .truncation import MOST_CHARS_A_TOKEN, truncate

__all__ = [
    "MOST_CHARS_A_TOKEN",
    "TITLES",
    "Candidates",
    "ExtractiveSummariser",
    "Fact",
    "Section",
    "SummaryLine",
    "clip",
    "complete_text",
    "excerpt",
    "facts_of",
    "find_sources",
    "find_sources_of_all",
    "identifiers_of",
    "parse_summary",
    "truncate",
]
