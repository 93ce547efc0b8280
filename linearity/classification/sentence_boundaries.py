"""Where the sentences of a paragraph end: one rule for the whole library.

A full stop ends a sentence unless it belongs to an abbreviation, an initial, an ordinal, or the
number of a list. The abbreviations are data (`tables/abbreviations.txt`): some never end a sentence
("Dr."), some do not before a number ("no. 5"), and some only before a capital ("at 5 p.m. Please").
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache

from .vocabulary import own_lists

_MARK = re.compile(
    r"(?<![.!?…।؟])[.!?…।؟]++(?:[ \u00a0\u202f]»|[\"'”’»)\]*_`]{0,4}+)(?=\s|$)"
    r"|[。！？；]+[\"'”’»)\]」』）]*"
)
_WORD = re.compile(r"[^\s(\[{\"'’“”„«»/|\u3040-\u30ff\u3400-\u9fff]*\Z")
_REACH = 32
"""The characters on either side of a mark that decide whether it ends a sentence."""
_CLOSING = re.compile(r"[\"'”’»)\]]\Z")
_SAID = re.compile(r".\s*[—–] ?[^\W\d_A-Z]|[」』](?:と|って)|”(?:然后|就|便|并)")
"""What follows the words of a speaker in the same sentence, with the sign before it."""
_LAST_DAY, _LONGEST_PART = 31, 3
_SEVERAL = re.compile(r"(?:[^\W\d_]{1,2}\.-?)+[^\W\d_]{1,3}")
"""An abbreviation of several words, such as "U.S" or "i.d.R"."""
_SHORT = re.compile(
    r"\w*[Ss]tr|[IVXLC]{2,7}|\d+[a-z]|(?=.*[A-Z])[B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xz]{2,5}"
)
"""An abbreviation that no table has: of a street, or with a capital and no vowel ("MwSt"); a
Roman number, or a number with a letter."""
_UNIT = re.compile(r"[^\W\d_]{1,2}|[^\W\d_aeiou]{3}")
"""What may be a shortened unit behind a number."""
_INITIAL = re.compile(r"[^\W\d_]{1,2}\.")
_DATE = re.compile(r"(?:\d{1,2}\.?[-–/]?)?(\d{1,2})")
_DATE_GOES_ON = re.compile(
    r"(?:bis|und|oder|jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez)|[-–—]|\d{1,2}\."
)


def sentence_ends(paragraph: str) -> Iterator[int]:
    """Yield the places in `paragraph`, a text without line breaks, at which a sentence ends.

    The end of the paragraph is not among them, unless a mark stands there. Takes time linear in
    the length of `paragraph`.

    >>> list(sentence_ends("Ask Dr. Ito at 9 a.m. on Mar. 3. Then call."))
    [32, 43]
    """
    start = 0
    for mark in _MARK.finditer(paragraph):
        if _ends(paragraph, start, mark):
            start = mark.end()
            yield start


def _ends(text: str, start: int, mark: re.Match[str]) -> bool:
    following = text[mark.end() : mark.end() + _REACH].lstrip()
    if not following:
        return True
    if (following[0].islower() and _CLOSING.search(mark[0])) or _SAID.match(text, mark.end() - 1):
        return False
    if mark[0][0] != "." or mark[0].startswith(".."):
        return True
    words = text[max(start, mark.start() - _REACH) : mark.start()].split()
    word = words and _WORD.search(words[-1])
    return not word or not _is_shortened(word[0], words[-2] if words[1:] else "", following)


def _is_shortened(word: str, before: str, following: str) -> bool:
    """Return whether the full stop behind `word` belongs to the word."""
    if number := _DATE.fullmatch(word):
        return _is_ordinal(word, int(number[1]), before.lower(), following)
    how = _how(word)
    if not following[0].isupper() and (
        (_INITIAL.fullmatch(before) and len(word) <= _LONGEST_PART)
        or (before[:1].isdigit() and (how or _UNIT.fullmatch(word)))
    ):
        return True
    if _SEVERAL.fullmatch(word) or (len(word) == 1 and word.isalpha()):
        return _is_initial(word, following)
    if how == "perhaps" or (how is None and _SHORT.fullmatch(word)):
        return bool(_INITIAL.match(following)) or not _opens(following)
    return how == "always" or (how == "number" and following[0].isdigit())


def _is_ordinal(word: str, number: int, before: str, following: str) -> bool:
    if not before:
        return word.isdigit()  # the number of a list
    is_day = before.strip(",.") in _lists()["day"] or before[-1] in ",-–"
    return number <= _LAST_DAY and (is_day or bool(_DATE_GOES_ON.match(following.lower())))


def _is_initial(word: str, following: str) -> bool:
    """Return whether a letter, or several with full stops, goes on: "U.S. Senate", "J. Smith"."""
    if _how(word) == "always" or _INITIAL.match(following):
        return True
    if word == "I" or not following[0].isupper():
        return not (len(word) == 1 and word.isupper())
    return not _opens(following)


def _how(word: str) -> str | None:
    """Return when an abbreviation does not end a sentence; None if it is none."""
    known = _abbreviations()
    return known.get(word) or known.get(word.lower()) or known.get(word.rpartition("-")[2])


def _opens(following: str) -> bool:
    """Return whether a sentence may begin with these words: with a capital, and as many do."""
    first = following.split(maxsplit=1)[0].strip(",'’")
    return first[:1].isupper() and first.lower() in _openers()


@cache
def _lists() -> Mapping[str, Collection[str]]:
    return own_lists("abbreviations")


@cache
def _abbreviations() -> Mapping[str, str]:
    return {word: name for name in ("perhaps", "number", "always") for word in _lists()[name]}


@cache
def _openers() -> frozenset[str]:
    """Return the frequent words that can begin a sentence."""
    words = own_lists("words")
    found = (*words["common"], *words["foreign"], *own_lists("en")["verb"], *_lists()["opener"])
    return frozenset(found)
