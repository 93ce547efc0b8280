"""Search queries: the words and quoted phrases that were typed, and snippets of the turns found.

Texts and queries are compared by stems: words without case, accents and common endings. Scripts
without spaces between words have nothing to split at, so that their characters and pairs of
characters are stems. No dictionary is needed, and "快递" finds "我的快递在哪里".
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
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
"""The number of different phrases, and of different words, of a query that are searched for."""

MOST_WORDS_A_PHRASE = 32
"""The number of words of a phrase that are searched for."""

SNIPPET = 160
"""The maximum number of characters of a snippet."""

_LEAD = 40
"""The number of characters of a snippet before the word that was found."""

_LONGEST_STEM = 64
_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
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
        if not isinstance(query, str):
            raise InvalidOptionError("text", query, "the words to look for")
        found = _PIECE.findall(query[:MOST_CHARACTERS])
        phrases = (" ".join(islice(_words(phrase), MOST_WORDS_A_PHRASE)) for phrase, _ in found)
        runs = chain.from_iterable(_runs(word) for _, word in found)
        return cls(_first(filter(None, phrases)), _first(chain.from_iterable(map(_pairs, runs))))

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
        plain = f" {' '.join(_words(text))} "
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


# --- words and stems --------------------------------------------------------------------


def stems_in(text: str) -> Iterator[str]:
    """Yield the stems of `text`, with repeats.

    In scripts without spaces between words, each character and each pair of characters is one.

    >>> list(stems_in("My parcels: 快递"))
    ['my', 'parcel', '快', '递', '快递']
    """
    for run in _runs(text):
        if _is_unspaced(run):
            yield from run
            yield from map("".join, pairwise(run))
        else:
            yield stem_of(run)


@lru_cache(50_000)
def stem_of(word: str) -> str:
    """Return a word without a common ending; words in other than Latin letters stay as they are.

    >>> [stem_of(word) for word in ("parties", "party", "planned", "planning", "moves", "moved")]
    ['parti', 'parti', 'plan', 'plan', 'mov', 'mov']
    """
    if len(word) < _SHORTEST_INFLECTED or not (word.isascii() and word.isalpha()):
        return word[:_LONGEST_STEM]
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in _ENDINGS:
        root = word.removesuffix(ending)
        if root != word and len(root) >= _SHORTEST_ROOT:
            doubled = root[-1] == root[-2] and root[-1] not in "aeiousl"
            word = root[:-1] if doubled else root
            break
    return (word[:-1] + "i" if word.endswith("y") else word.removesuffix("e"))[:_LONGEST_STEM]


_ENDINGS = ("ingly", "edly", "ing", "ed", "ly", "ment", "er", "e")
_SHORTEST_INFLECTED, _SHORTEST_ROOT = 4, 3


def _runs(text: str) -> Iterator[str]:
    """Yield the words of `text`, and the runs of characters of scripts without spaces."""
    for word in text.translate(_FOLDED_WORDS).split():
        if word.isascii():
            yield word
        else:
            yield from _RUN.findall(word)


def _words(text: str) -> Iterator[str]:
    """Yield the words of `text`; each character of a script without spaces is one."""
    return chain.from_iterable(run if _is_unspaced(run) else (run,) for run in _runs(text))


def _pairs(run: str) -> Iterable[str]:
    return map("".join, pairwise(run)) if len(run) > 1 and _is_unspaced(run) else (run,)


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _UNSPACED.match(run) is not None


def _first(terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(terms), MOST_TERMS))


class _Bare(dict[int, str]):
    """A cache of each character in lower case and without accents, as one character."""

    def __missing__(self, code: int) -> str:
        parts = normalize("NFD", chr(code))
        # Hangul syllables decompose into letters, which are not accents.
        self[code] = bare = (parts[0] if all(map(combining, parts[1:])) else chr(code)).lower()[0]
        return bare


class _FoldedWords(dict[int, str | None]):
    """A cache of each character of a word, folded; others become a space, and accents nothing."""

    def __missing__(self, code: int) -> str | None:
        kind = category(chr(code))
        in_word = kind[0] in "LN" or kind in {"Co", "Mn", "Mc"}
        self[code] = found = None if code in _ACCENTS else _BARE[code] if in_word else " "
        return found


_ACCENTS = range(0x300, 0x370)
_BARE, _FOLDED_WORDS = _Bare(), _FoldedWords()


def folded(text: str) -> str:
    """Return `text` in lower case and without accents, with the same length."""
    return text.lower() if text.isascii() else text.translate(_BARE)
