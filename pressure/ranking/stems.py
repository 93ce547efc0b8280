"""Stems: words without case, accents and common endings.

Texts and queries are compared by them. Scripts without spaces between words have nothing to split
at, so that their characters and pairs of characters are stems. No dictionary is needed, and "快递"
finds "我的快递在哪里".
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from unicodedata import category, combining, normalize

from ..terms import UNSPACED

_LONGEST_STEM = 64
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def stems_in(text: str) -> Iterator[str]:
    """Yield the stems of `text`, with repeats.

    In scripts without spaces between words, each character and each pair of characters is one.

    >>> list(stems_in("My parcels: 快递"))
    ['my', 'parcel', '快', '递', '快递']
    """
    for run in runs_in(text):
        if _is_unspaced(run):
            yield from run
            yield from map("".join, pairwise(run))
        else:
            yield stem_of(run)


def stem_of(word: str) -> str:
    """Return a word without a common ending; words in other than Latin letters stay as they are.

    >>> [stem_of(word) for word in ("parties", "party", "planned", "planning", "moves", "moved")]
    ['parti', 'parti', 'plan', 'plan', 'mov', 'mov']
    """
    # What is longer is no word, and would fill the cache.
    return _stem_of(word) if len(word) <= _LONGEST_STEM else word[:_LONGEST_STEM]


@lru_cache(50_000)
def _stem_of(word: str) -> str:
    if len(word) < _SHORTEST_INFLECTED or not (word.isascii() and word.isalpha()):
        return word
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
    return word[:-1] + "i" if word.endswith("y") else word.removesuffix("e")


_ENDINGS = ("ingly", "edly", "ing", "ed", "ly", "ment", "er", "e")
_SHORTEST_INFLECTED, _SHORTEST_ROOT = 4, 3


def runs_in(text: str) -> Iterator[str]:
    """Yield the words of `text`, and the runs of characters of scripts without spaces."""
    for word in text.translate(_FOLDED_WORDS).split():
        if word.isascii():
            yield word
        else:
            yield from _RUN.findall(word)


def words_in(text: str) -> Iterator[str]:
    """Yield the words of `text`; each character of a script without spaces is one."""
    return chain.from_iterable(run if _is_unspaced(run) else (run,) for run in runs_in(text))


def pairs_in(run: str) -> Iterable[str]:
    """Return a run as one word, or the pairs of its characters if its script has no spaces."""
    return map("".join, pairwise(run)) if len(run) > 1 and _is_unspaced(run) else (run,)


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _UNSPACED.match(run) is not None


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
