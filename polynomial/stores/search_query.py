"""Search queries: the words and quoted phrases that were typed, and snippets of turns found."""

import re
from collections.abc import Iterable
from itertools import chain, islice
from typing import Self

from attrs import frozen

from polycontext.base import require
from polycontext.pressure.ranking import folded, pairs_in, runs_in, stem_of, words_in
from polycontext.window import Turn

from .session_store import Found

MOST_CHARACTERS = 4_000
"""The number of characters of a query that are read."""

MOST_TERMS = 64
"""The number of different phrases, and of different words, of a query that are searched for."""

MOST_WORDS_A_PHRASE = 32
"""The number of words of a phrase that are searched for."""

SNIPPET = 160
"""The maximum number of characters of a snippet."""

_LEAD = 40
"""The number of characters of a snippet before the word that was found."""

_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')
_GAP = r"[\W_]*"


@frozen
class AskedWords:
    """A parsed query: the phrases that a turn must contain, and the words.

    If there is no phrase, a turn must contain the stem of at least one of the words.

    >>> AskedWords.of('where is "My parcel"')
    AskedWords(phrases=('my parcel',), words=('where', 'is'))
    """

    phrases: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> Self:
        """Parse `query`; any text is a query.

        The result is empty if the query has neither letters nor digits. Repeated terms count once.
        Anything past `MOST_CHARACTERS`, `MOST_TERMS` or `MOST_WORDS_A_PHRASE` is ignored.

        Raises:
            InvalidOptionError: it is not a text.
        """
        require("text", query, isinstance(query, str), "the words to look for")
        found = _PIECE.findall(query[:MOST_CHARACTERS])
        phrases = (" ".join(islice(words_in(phrase), MOST_WORDS_A_PHRASE)) for phrase, _ in found)
        runs = chain.from_iterable(runs_in(word) for _, word in found)
        return cls(_first(filter(None, phrases)), _first(chain.from_iterable(map(pairs_in, runs))))

    def __bool__(self) -> bool:
        return bool(self.phrases or self.words)

    @property
    def required(self) -> tuple[str, ...]:
        """Return the stems that every turn with all phrases contains."""
        return _first(map(stem_of, " ".join(self.phrases).split()))

    @property
    def stems(self) -> tuple[str, ...]:
        """Return the stems by which turns are ranked."""
        return _first((*self.required, *map(stem_of, self.words)))

    def is_in(self, text: str) -> bool:
        """Return whether `text` contains all phrases."""
        if not self.phrases:
            return True
        plain = f" {' '.join(words_in(text))} "
        return all(f" {phrase} " in plain for phrase in self.phrases)

    def snippet(self, text: str) -> str:
        """Return a line of `text`, around a match, of at most `SNIPPET` characters."""
        bare = folded(text)
        terms = sorted((*self.words, *self.stems), key=len, reverse=True)
        places = (_place(term, bare) for term in (*self.phrases, *terms))
        at = next((place for place in places if place >= 0), 0)
        start = max(0, min(at - _LEAD, len(text) - (SNIPPET - 1)))
        # White space is collapsed, so more than `SNIPPET` characters may fit.
        line = " ".join(text[start : start + 2 * SNIPPET].split())
        before, behind = "…" if start else "", start + 2 * SNIPPET < len(text)
        room = SNIPPET - len(before)
        return before + (line[: room - 1] + "…" if behind or len(line) > room else line)


def _place(term: str, bare: str) -> int:
    """Return where the words of `term` begin in `bare` text, or -1."""
    if " " not in term:
        return bare.find(term)
    match = re.search(_GAP.join(map(re.escape, term.split())), bare)
    return match.start() if match else -1


def found_in(turn: Turn, asked: AskedWords, score: float) -> Found:
    """Return a turn as a search result."""
    return Found(turn.resource_id, turn.role, asked.snippet(said(turn)), score)


def said(turn: Turn) -> str:
    """Return the searched text of a turn: its content and its calls."""
    return "\n".join([turn.text, *(f"{call.name} {call.arguments}" for call in turn.tool_calls)])


def _first(terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(terms), MOST_TERMS))
