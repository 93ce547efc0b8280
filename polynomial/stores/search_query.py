"""What a search asks for: words and quoted phrases of a text that somebody typed, and the line that shows where a turn says them.

SQLite's FTS5 takes words apart at everything that is no letter or digit. Scripts without spaces
between words have nothing to be
taken apart at: their characters become words of their own, both in what is indexed and in what is
asked, and what is asked for are pairs of them. So nobody needs a dictionary, and "快递" finds
"我的快递在哪里".
"""

import re
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import Self
from unicodedata import category, combining, normalize

from attrs import frozen

from polycontext.linearity import InvalidOptionError
from polycontext.pressure.notes import UNSPACED
from polycontext.window import Turn

from .session_store import Found

MOST_CHARACTERS = 4_000
"""Of a query: so many are read, the first ones."""

MOST_TERMS = 64
"""Of a query: so many different words and phrases are looked for, the first ones."""

MOST_TOKENS = 96
"""Of a query: its terms are looked for up to this many tokens in all, since each one that is common
costs a pass over the index."""

MOST_TOKENS_A_TERM = 32
"""Of a term: a longer one is looked for by its first tokens."""

SNIPPET = 160
"""Characters of a snippet, at most."""

_LEAD = 40
"""Of them: so many stand before the word that was found."""

_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')
_UNSPACED = re.compile(f"[{UNSPACED}]")
_TOKEN = re.compile(f"[{UNSPACED}]|[^ {UNSPACED}]+")
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


@frozen
class AskedWords:
    """Hold the phrases that a turn must say, and the words of which it must say one where no phrase is asked for.

    >>> AskedWords.of('where is "my parcel"')
    AskedWords(phrases=('my parcel',), words=('where', 'is'))
    """

    phrases: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> Self:
        """Return what `query` asks for: nothing where it holds neither letter nor digit.

        Any text is a query.

        A query that repeats a term asks for it once. What stands behind `MOST_CHARACTERS`,
        `MOST_TERMS` or `MOST_TOKENS` is passed over.

        Raises:
            InvalidOptionError: it is no text.
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
        """Return what FTS5 is asked: it ranks by words and phrases, and what the caller typed is no syntax of it."""
        phrases, words = (
            " AND ".join(map(_quoted, self.phrases)),
            " OR ".join(map(_quoted, self.words)),
        )
        return (
            f"({phrases} AND ({words})) OR ({phrases})" if phrases and words else phrases or words
        )

    def snippet(self, text: str) -> str:
        """Return a line of `text` in which something stands that was asked for, of at most `SNIPPET` characters."""
        bare = folded(text)
        places = (
            bare.find(folded(term))
            for term in (*self.phrases, *sorted(self.words, key=len, reverse=True))
        )
        at = next((place for place in places if place >= 0), 0)
        start = max(0, min(at - _LEAD, len(text) - (SNIPPET - 1)))
        # White space within a line is one space: what lies further on may still fit.
        line = " ".join(text[start : start + 2 * SNIPPET].split())
        before, behind = "…" if start else "", start + 2 * SNIPPET < len(text)
        room = SNIPPET - len(before)
        return before + (line[: room - 1] + "…" if behind or len(line) > room else line)


def found_in(turn: Turn, asked: AskedWords, score: float) -> Found:
    """Return the finding of a turn."""
    return Found(turn.resource_id, turn.role, asked.snippet(said(turn)), score)


def said(turn: Turn) -> str:
    """Return all that is searched of a turn: what it says and what it calls."""
    return "\n".join([turn.text, *(f"{call.name} {call.arguments}" for call in turn.tool_calls)])


def spaced(text: str) -> str:
    """Return `text` with each character of a script without spaces as a word of its own.

    >>> spaced("the 快递 is late")
    'the  快  递  is late'
    """
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)


def _words(piece: str) -> Iterator[str]:
    """Iterate over the words of something typed without a space: of a script without any, its pairs of characters."""
    for run in _RUN.findall(piece):
        yield from map("".join, pairwise(run)) if len(run) > 1 and _UNSPACED.match(run) else (run,)


def _first(terms: Iterator[str], most: int, tokens: int) -> tuple[str, ...]:
    """Return the first different terms that say something: at most `most`, of at most so many tokens together."""
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
    """Return a term up to its last token that is looked for."""
    last = next(islice(_TOKEN.finditer(_indexed(term)), MOST_TOKENS_A_TERM - 1, None), None)
    return term[: last.end()] if last else term


def _tokens(term: str) -> int:
    return sum(1 for _ in _TOKEN.finditer(_indexed(term)))


def _indexed(term: str) -> str:
    """Return a term with a space for each sign that ends a token in FTS5.

    Accents and vowel signs are part of one.
    """
    return "".join(
        char if category(char)[0] in "LN" or category(char) in {"Co", "Mn", "Mc"} else " "
        for char in term
    )


def _quoted(term: str) -> str:
    return f'"{spaced(term)}"'


class _Bare(dict[int, str]):
    """Know each character in lower case and without its accents, as one character."""

    def __missing__(self, code: int) -> str:
        parts = normalize("NFD", chr(code))
        # A syllable of Hangul is taken apart into letters, which are no marks.
        self[code] = bare = (parts[0] if all(map(combining, parts[1:])) else chr(code)).lower()[0]
        return bare


_BARE = _Bare()


def folded(text: str) -> str:
    """Return `text` as words are compared: as long as it is, in lower case and without accents."""
    return text.lower() if text.isascii() else text.translate(_BARE)
