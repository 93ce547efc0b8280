"""Search queries: the words and quoted phrases that were typed, and snippets of the turns found.

SQLite's FTS5 splits text at everything that is not a letter or a digit. Scripts without spaces
between words have nothing to split at. Their characters therefore become words of their own, both
in the index and in queries, and a query looks for pairs of them. No dictionary is needed, and
"快递" finds "我的快递在哪里".
"""

import re
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import Self
from unicodedata import category, combining, normalize

from attrs import frozen

from polycontext.base import InvalidOptionError
from polycontext.pressure.notes import UNSPACED
from polycontext.window import Turn

from .session_store import Found

MOST_CHARACTERS = 4_000
"""The number of characters of a query that are read."""

MOST_TERMS = 64
"""The number of different words and phrases of a query that are searched for."""

MOST_TOKENS = 96
"""The number of tokens in all terms of a query that are searched for.

Each common token costs a pass over the index.
"""

MOST_TOKENS_A_TERM = 32
"""The number of tokens of a term that are searched for."""

SNIPPET = 160
"""The maximum number of characters of a snippet."""

_LEAD = 40
"""The number of characters of a snippet before the word that was found."""

_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')
_UNSPACED = re.compile(f"[{UNSPACED}]")
_TOKEN = re.compile(f"[{UNSPACED}]|[^ {UNSPACED}]+")
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


@frozen
class AskedWords:
    """A parsed query: the phrases that a turn must contain, and the words.

    If there is no phrase, a turn must contain at least one of the words.

    >>> AskedWords.of('where is "my parcel"')
    AskedWords(phrases=('my parcel',), words=('where', 'is'))
    """

    phrases: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> Self:
        """Parse `query`; any text is a query.

        The result is empty if the query has neither letters nor digits. Repeated terms count once.
        Anything past `MOST_CHARACTERS`, `MOST_TERMS` or `MOST_TOKENS` is ignored.

        Raises:
            InvalidOptionError: it is not a text.
        """
        if not isinstance(query, str):
            raise InvalidOptionError("text", query, "the words to look for")
        found = _PIECE.findall(_NO_TEXT.sub(" ", query[:MOST_CHARACTERS]))
        phrases = _first((phrase.strip() for phrase, _ in found), MOST_TERMS, MOST_TOKENS)
        tokens = MOST_TOKENS - sum(map(_tokens, phrases))
        return cls(
            phrases,
            _first(
                chain.from_iterable(_words(word) for _, word in found),
                MOST_TERMS - len(phrases),
                tokens,
            ),
        )

    def __bool__(self) -> bool:
        return bool(self.phrases or self.words)

    @property
    def match(self) -> str:
        """Return the query for FTS5, which ranks by words and phrases.

        Nothing that the caller typed is interpreted as FTS5 syntax.
        """
        phrases, words = (
            " AND ".join(map(_quoted, self.phrases)),
            " OR ".join(map(_quoted, self.words)),
        )
        return (
            f"({phrases} AND ({words})) OR ({phrases})" if phrases and words else phrases or words
        )

    def snippet(self, text: str) -> str:
        """Return a line of `text`, around a match, of at most `SNIPPET` characters."""
        bare = folded(text)
        places = (
            bare.find(folded(term))
            for term in (*self.phrases, *sorted(self.words, key=len, reverse=True))
        )
        at = next((place for place in places if place >= 0), 0)
        start = max(0, min(at - _LEAD, len(text) - (SNIPPET - 1)))
        # White space is collapsed, so more than `SNIPPET` characters may fit.
        line = " ".join(text[start : start + 2 * SNIPPET].split())
        before, behind = "…" if start else "", start + 2 * SNIPPET < len(text)
        room = SNIPPET - len(before)
        return before + (line[: room - 1] + "…" if behind or len(line) > room else line)


def found_in(turn: Turn, asked: AskedWords, score: float) -> Found:
    """Return a turn as a search result."""
    return Found(turn.resource_id, turn.role, asked.snippet(said(turn)), score)


def said(turn: Turn) -> str:
    """Return the searched text of a turn: its content and its calls."""
    return "\n".join([turn.text, *(f"{call.name} {call.arguments}" for call in turn.tool_calls)])


def spaced(text: str) -> str:
    """Return `text` with each character of a script without spaces as a word of its own.

    >>> spaced("the 快递 is late")
    'the  快  递  is late'
    """
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)


def _words(piece: str) -> Iterator[str]:
    """Yield the words of a text without spaces; for scripts without spaces, pairs of characters."""
    for run in _RUN.findall(piece):
        yield from map("".join, pairwise(run)) if len(run) > 1 and _UNSPACED.match(run) else (run,)


def _first(terms: Iterator[str], most: int, tokens: int) -> tuple[str, ...]:
    """Return the first different terms with a letter or digit, within both limits.

    At most `most` terms are returned, with at most `tokens` tokens together.
    """
    first: dict[str, None] = {}
    for term in map(_shortened, terms):
        if term in first or not any(map(str.isalnum, term)):
            continue
        tokens -= _tokens(term)
        if len(first) == most or tokens < 0:
            break
        first[term] = None
    return tuple(first)


def _shortened(term: str) -> str:
    """Return a term up to the last token that is searched for."""
    last = next(islice(_TOKEN.finditer(_indexed(term)), MOST_TOKENS_A_TERM - 1, None), None)
    return term[: last.end()] if last else term


def _tokens(term: str) -> int:
    return sum(1 for _ in _TOKEN.finditer(_indexed(term)))


def _indexed(term: str) -> str:
    """Return a term with a space for each character that ends a token in FTS5.

    Accents and vowel signs are parts of tokens.
    """
    return "".join(
        char if category(char)[0] in "LN" or category(char) in {"Co", "Mn", "Mc"} else " "
        for char in term
    )


def _quoted(term: str) -> str:
    return f'"{spaced(term)}"'


class _Bare(dict[int, str]):
    """A cache of each character in lower case and without accents, as one character."""

    def __missing__(self, code: int) -> str:
        parts = normalize("NFD", chr(code))
        # Hangul syllables decompose into letters, which are not accents.
        self[code] = bare = (parts[0] if all(map(combining, parts[1:])) else chr(code)).lower()[0]
        return bare


_BARE = _Bare()


def folded(text: str) -> str:
    """Return `text` in lower case and without accents, with the same length."""
    return text.lower() if text.isascii() else text.translate(_BARE)
