"""Terms: the words of a text, their kinds, and their worth.

An agent seldom needs prose again. Identifiers and paths cannot be reconstructed once they are gone,
so they weigh most; prose words weigh by how rare they are in the conversation.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from itertools import chain, groupby, pairwise
from math import log

UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff10-\uffdc\U00020000-\U0003ffff"
)
"""Scripts without white space between words (and Korean, whose particles are attached to words);
their terms are pairs of characters."""

_LETTER = (
    "A-Za-z0-9_\u00aa\u00b5\u00ba\u00c0-\u0dff\u10a0-\u177f\u1800-\u1fff\u2c00-\u2dff\ua4d0-\uabff"
)
_TERM = re.compile(rf"[{_LETTER}](?:[{_LETTER}./@-]{{0,118}}[{_LETTER}])?|[{UNSPACED}]{{1,40}}")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]")
_NUMBER = re.compile(r"\d[\d.,x/-]*")
_DATE, _LONG = re.compile(r"\d{1,4}(?:[-/.]\d{1,4}){2,}"), re.compile(r"\d{5,}")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT")
_FILE = re.compile(
    r"\.(?:py|pyi|ipynb|[cm]?[jt]sx?|json[l5]?|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv"
    r"|tsv|xml|html?|s?css|sql|sh|bash|ps1"
    r"|c|cc|cpp|cxx|h|hpp|cs|java|kts?|go|rs|rb|php|swift|scala|r|jl|lua|pl|ex|exs|hs|ml|vue"
    r"|svelte|proto|tf|gradle|diff|patch"
    r"|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|wav|zip|gz|tar|db|sqlite|parquet)$",
    re.IGNORECASE,
)
_SHORT_TEXT, _LOOKED_AT = 400, 4_000
_LETTERS_SHARE, _LONG_LINE = 0.85, 40
"""The share of letters and spaces, and the average line length, from which a text in any language
is prose."""
_SHORTEST_STRONG = 4
_SHORTEST_WORD = 3
_STOP = frozenset(
    re.findall(
        r"\w+",
        "the and for you that with this have are was not but from your they will can has its been "
        "would could should there their "
        "what when which were them then than into some also just like about other more any all "
        "our out how one get got let here use "
        "using used who him his her she had did does doing done being very much only over such "
        "these those where why yes okay yeah",
    )
)


class Kind(Enum):
    """The kinds of terms, by how hard they are to reconstruct.

    The value is the worth of keeping one.
    """

    ID = 3.0
    DATE = 2.6
    PATH = 2.5
    SYMBOL = 1.5
    FILE = 1.0
    NAME = 0.36
    WORD = 0.35
    NUMBER = 0.1
    STOP = 0.0


STRONG = frozenset({Kind.ID, Kind.DATE, Kind.PATH, Kind.FILE, Kind.SYMBOL})
"""Kinds that cannot be reconstructed: identifiers, paths, names from code."""

_FILE_SAID_BONUS = 8.0
"""How much more a file weighs that somebody named: it is being worked on, unlike listed files."""

_FADING = 0.1
"""The exponent of its age in turns by which a term's weight falls."""


@lru_cache(100_000)
def kind_of(term: str) -> Kind:
    """Return the kind of `term`.

    >>> [
    ...     kind_of(term).name
    ...     for term in ("ZFA04Y", "src/app.py", "np.array", "Mia", "12.50", "flight", "the")
    ... ]
    ['ID', 'FILE', 'SYMBOL', 'NAME', 'NUMBER', 'WORD', 'STOP']
    """
    if _TIMESTAMP.match(term):
        return Kind.NAME
    if term[0].isdigit() and _NUMBER.fullmatch(term):
        is_date = _DATE.fullmatch(term)
        return Kind.DATE if is_date else Kind.ID if _LONG.fullmatch(term) else Kind.NUMBER
    if len(term) >= _SHORTEST_STRONG and (strong := _strong_kind(term)):
        return strong
    if term.lower() in _STOP or (
        term.isascii() and len(term) < _SHORTEST_WORD and not term[0].isupper()
    ):
        return Kind.STOP
    return Kind.NAME if term[0].isupper() else Kind.WORD


@lru_cache(100_000)
def is_strong(term: str) -> bool:
    """Return whether `term` is an identifier, which cannot be reconstructed once it is gone."""
    return kind_of(term) in STRONG


def strong_terms(text: str) -> set[str]:
    """Return the identifiers of a text."""
    return {*filter(is_strong, terms_of(text))}


def _strong_kind(term: str) -> Kind | None:
    if _FILE.search(term):
        return Kind.FILE
    if "/" in term:
        return Kind.PATH
    if any(map(str.isdigit, term)):
        return Kind.ID
    inner = term[1:]
    return (
        Kind.SYMBOL if "_" in term or "." in term or "@" in term or inner != inner.lower() else None
    )


def terms_of(text: str) -> tuple[str, ...]:
    """Return the terms of `text` that have any worth, each once, as they are written.

    >>> terms_of("Fix src/app.py, then run src/app.py")
    ('Fix', 'src/app.py', 'run')
    """
    return tuple(dict.fromkeys(chain.from_iterable(map(_telling, _TERM.findall(text)))))


@lru_cache(50_000)
def _telling(raw: str) -> tuple[str, ...]:
    return tuple(term for term in _split(raw) if kind_of(term) is not Kind.STOP)


def _split(raw: str) -> list[str]:
    """Return the terms of a match; in scripts without spaces, these are pairs of characters."""
    return (
        [left + right for left, right in pairwise(raw)]
        if len(raw) > 1 and _UNSPACED_RUN.match(raw)
        else [raw]
    )


def is_prose(text: str) -> bool:
    r"""Return whether `text` looks like a message rather than pasted output.

    This is true for short texts and for long lines of letters.

    >>> (
    ...     is_prose("ls\\n" * 200),
    ...     is_prose("Please do not change the file in which they are kept. " * 20),
    ... )
    (False, True)
    """
    if len(text) < _SHORT_TEXT:
        return True
    start = text[:_LOOKED_AT]
    letters = sum(map(str.isalpha, start)) + start.count(" ")
    lines = 1 + start.count("\n")
    return letters >= _LETTERS_SHARE * len(start) and len(start) >= _LONG_LINE * lines


def weights_of(uses: Iterable[tuple[int, Iterable[str]]], turns: int) -> dict[str, float]:
    """Return the worth of each term in a conversation of `turns` turns.

    `uses` holds, for each sentence, its turn and its terms, by turn.
    """
    seen, last = Counter[str](), dict[str, int]()
    for turn, group in groupby(uses, key=lambda use: use[0]):
        used = {*chain.from_iterable(terms for _, terms in group)}
        seen.update(used)
        last.update(dict.fromkeys(used, turn))
    weights = dict[str, float]()
    for term, times in seen.items():
        kind = kind_of(term)
        # A word that stands in small letters elsewhere only began a sentence here.
        small = seen[term.lower()] if kind is Kind.NAME else 0
        kind = Kind.WORD if small else kind
        weights[term] = _weight(kind, times + small, last[term], max(1, turns))
    return weights


def _weight(kind: Kind, seen: int, last: int, turns: int) -> float:
    if kind is Kind.WORD:
        weight = log(1 + turns / seen) / log(1 + turns)
    else:
        weight = (1 + (_FILE_SAID_BONUS if kind is Kind.FILE else 1.0)) * (1 + log(seen))
    faded: float = max(1, turns - last) ** _FADING
    return kind.value * weight / faded


def relevance(texts: Sequence[str], query: str) -> list[float]:
    """Return the relevance of each of `texts` to `query`, from the terms that they share.

    Rare terms count more, and so do those that cannot be reconstructed.

    >>> [
    ...     score > 0
    ...     for score in relevance(
    ...         ["The flight is UA100.", "It rains in Vienna."], "When does UA100 leave?"
    ...     )
    ... ]
    [True, False]
    """
    asked = {*terms_of(query.lower())}
    if not asked:
        return [0.0] * len(texts)
    held = [
        asked.intersection(terms_of(low)) if any(term in low for term in asked) else _NONE
        for low in map(str.lower, texts)
    ]
    holding = Counter(term for terms in held for term in terms)
    worth = {
        term: log(1 + len(held) / times) * (2 if kind_of(term) in STRONG else 1)
        for term, times in holding.items()
    }
    return [sum(worth[term] for term in sorted(terms)) for terms in held]


_NONE = frozenset[str]()
