"""Which words a text holds, what kind each is, and what it is worth to keep one.

What an agent needs again is seldom prose. Identifiers and paths cannot be
guessed back once they are gone, so they weigh most; prose words weigh by how
rare they are in the conversation; the keys of JSON weigh next to nothing, for
their values carry them along.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import pairwise
from math import log

UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff10-\uffdc\U00020000-\U0003ffff"
)
"""Scripts without white space between words (and Korean, whose particles stick to them): their terms are pairs of characters."""

_LETTER = "A-Za-z0-9_\u00aa\u00b5\u00ba\u00c0-\u0dff\u10a0-\u177f\u1800-\u1fff\u2c00-\u2dff\ua4d0-\uabff"
_TERM = re.compile(rf"[{_LETTER}](?:[{_LETTER}./@-]{{0,118}}[{_LETTER}])?|[{UNSPACED}]{{1,40}}")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]")
_NUMBER = re.compile(r"\d[\d.,x/-]*")
_DATE_OR_LONG = re.compile(r"\d{1,4}(?:[-/.]\d{1,4}){2,}|\d{5,}")
_FILE = re.compile(
    r"\.(?:py|pyi|ipynb|[cm]?[jt]sx?|json[l5]?|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv|tsv|xml|html?|s?css|sql|sh|bash|ps1"
    r"|c|cc|cpp|cxx|h|hpp|cs|java|kts?|go|rs|rb|php|swift|scala|r|jl|lua|pl|ex|exs|hs|ml|vue|svelte|proto|tf|gradle|diff|patch"
    r"|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|wav|zip|gz|tar|db|sqlite|parquet)$",
    re.IGNORECASE,
)
_PLAIN_WORD = re.compile(r"[^\W\d_]+")
_SHORT_TEXT, _LOOKED_AT = 400, 4_000
_TOLD_SHARE = 0.15
"""The share of words that every English text has, from which on a text is told."""
_LETTERS_SHARE, _LONG_LINE = 0.85, 40
"""The share of letters and spaces, and the characters of a line, from which on a text in whatever language is told."""
_SHORTEST_STRONG = 4
_SHORTEST_WORD = 3
_STOP = frozenset(
    re.findall(
        r"\w+",
        "the and for you that with this have are was not but from your they will can has its been would could should there their "
        "what when which were them then than into some also just like about other more any all our out how one get got let here use "
        "using used who him her his she had did does doing done being very much only over such these those where why yes okay yeah",
    )
)


class Kind(Enum):
    """Tell terms apart by how hard they would be to do without."""

    ID = "id"
    """Digits in a word, dates, long numbers: nobody can guess it back."""
    PATH = "path"
    FILE = "file"
    """A name with the ending of a file."""
    SYMBOL = "symbol"
    """Snake case, camel case, dotted: a name from code."""
    NAME = "name"
    NUMBER = "number"
    WORD = "word"
    KEY = "key"
    """The key of a JSON value."""
    FAILURE = "failure"
    """An error line as a whole: what went wrong is told once, however its words are spread."""
    STOP = "stop"


WORTH = {
    Kind.ID: 3.0,
    Kind.PATH: 2.5,
    Kind.FILE: 1.0,
    Kind.SYMBOL: 1.5,
    Kind.NAME: 0.35,
    Kind.NUMBER: 0.1,
    Kind.WORD: 0.35,
    Kind.KEY: 0.05,
    Kind.FAILURE: 2.0,
    Kind.STOP: 0.0,
}
"""What covering a term of each kind is worth; fitted, as the constants below, to recorded conversations."""

_SIGNS = {'"': Kind.KEY, "!": Kind.FAILURE}

STRONG = frozenset({Kind.ID, Kind.PATH, Kind.FILE, Kind.SYMBOL})
"""Kinds that keep what stands to their left: alone they would be labels without a thing."""

SAID_BONUS = 1.0
"""How much more a term weighs that a person or the model wrote: what came up in a tool's result only is mostly noise."""

FILE_SAID_BONUS = 8.0
"""The same for a file: a listing has many, those that somebody named are worked on."""

REUSE_BONUS = 1.0
"""How much more a term weighs for each e-fold of turns that use it: it is alive."""

FADING_STRONG = 0.1
"""The power of its age in turns by which a strong term's weight falls."""

FADING_WEAK = 0.1
"""The same for all other terms."""


def kind_of(term: str) -> Kind:
    """Return the kind of `term`; a leading sign tells keys of JSON (``"``) and error lines (``!``) from words.

    >>> [kind_of(t).value for t in ("ZFA04Y", "src/app.py", "np.array", "Mia", "12.50", "flight", '"id', "the")]
    ['id', 'file', 'symbol', 'name', 'number', 'word', 'key', 'stop']
    """
    if term[0] in _SIGNS:
        return _SIGNS[term[0]]
    if term[0].isdigit() and _NUMBER.fullmatch(term):
        return Kind.ID if _DATE_OR_LONG.fullmatch(term) else Kind.NUMBER
    if len(term) >= _SHORTEST_STRONG and (strong := _strong_kind(term)):
        return strong
    if term[0].isupper():
        return Kind.NAME if term.lower() not in _STOP else Kind.STOP
    return Kind.STOP if term in _STOP or (term.isascii() and len(term) < _SHORTEST_WORD) else Kind.WORD


def _strong_kind(term: str) -> Kind | None:
    if _FILE.search(term):
        return Kind.FILE
    if "/" in term:
        return Kind.PATH
    if any(map(str.isdigit, term)):
        return Kind.ID
    inner = term[1:]
    return Kind.SYMBOL if "_" in term or "." in term or "@" in term or inner != inner.lower() else None


def plain_terms(text: str) -> Iterator[str]:
    """Yield the terms of `text` in lower case, without those that every text has.

    >>> list(plain_terms("The flight UA100 is late"))
    ['flight', 'ua100', 'late']
    """
    for match in _TERM.finditer(text):
        for key in _split(match[0].lower()):
            if key not in _STOP and (len(key) >= _SHORTEST_WORD or not key.isascii() or key.isdigit()):
                yield key


def is_told(text: str) -> bool:
    r"""Tell whether `text` reads as somebody's words rather than as output pasted in: short, full of the words that every text has, or letters and spaces in long lines.

    >>> is_told("ls\\n" * 200), is_told("Please do not change the file in which they are kept. " * 20)
    (False, True)
    """
    if len(text) < _SHORT_TEXT:
        return True
    words = _PLAIN_WORD.findall(text, 0, _LOOKED_AT)
    return sum(word in _STOP for word in words) >= _TOLD_SHARE * len(words) or _runs_on(text[:_LOOKED_AT])


def _runs_on(text: str) -> bool:
    """Tell whether `text` is letters and spaces for the most part, in long lines."""
    letters = sum(map(str.isalpha, text)) + text.count(" ")
    return letters >= _LETTERS_SHARE * len(text) and len(text) >= _LONG_LINE * (1 + text.count("\n"))


def terms_of(text: str) -> list[str]:
    """Return the terms of `text` as they are written, each once.

    >>> terms_of("Fix src/app.py, then run src/app.py")
    ['Fix', 'src/app.py', 'then', 'run']
    """
    return list(dict.fromkeys(_TERM.findall(text)))


class TermBook:
    """Number the terms of one conversation and note in which turns each occurs.

    Turns are read in order; a term's number indexes the columns.
    """

    __slots__ = ("_numbers", "_of_raw", "kinds", "last", "said", "turns")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._of_raw: dict[str, tuple[int, ...]] = {}
        self.kinds: list[Kind] = []
        self.turns: list[int] = []
        self.last: list[int] = []
        self.said: list[bool] = []

    def copy(self) -> "TermBook":
        """Return a book of its own that knows what this one knows."""
        return self.of(range(len(self.kinds)))

    def of(self, numbers: Iterable[int]) -> "TermBook":
        """Return a book that knows of these terms alone, and numbers them in their order."""
        book, kept = TermBook(), list(numbers)
        keys = list(self._numbers)
        book._numbers = {keys[number]: place for place, number in enumerate(kept)}
        book.kinds = [self.kinds[number] for number in kept]
        book.turns = [self.turns[number] for number in kept]
        book.last = [self.last[number] for number in kept]
        book.said = [self.said[number] for number in kept]
        return book

    @property
    def columns(self) -> tuple[list[str], list[Kind], list[int], list[int], list[bool]]:
        """Return all that is known, in the order of the numbers; `of_columns` makes the book again."""
        return list(self._numbers), self.kinds, self.turns, self.last, self.said

    @classmethod
    def of_columns(cls, terms: Sequence[str], kinds: list[Kind], turns: list[int], last: list[int], said: list[bool]) -> "TermBook":
        """Return the book that has these columns."""
        book = cls()
        book._numbers = {term: number for number, term in enumerate(terms)}
        book.kinds, book.turns, book.last, book.said = kinds, turns, last, said
        return book

    def read(self, text: str, start: int, end: int, turn: int, *, said: bool) -> tuple[tuple[int, ...], int | None]:
        """Note the terms of ``text[start:end]`` in `turn`; return their numbers and where the first strong one stands.

        `said` tells that a person or the model wrote it, rather than a tool.
        """
        found: dict[int, None] = {}
        anchor = None
        for match in _TERM.finditer(text, start, end):
            raw = f'"{match[0]}' if text.startswith('":', match.end()) else match[0]
            numbers = self._of_raw.get(raw) or self._enter(raw)
            if anchor is None and self.kinds[numbers[0]] in STRONG:
                anchor = match.start()
            found.update(dict.fromkeys(numbers))
        self._note(found, turn, said=said)
        return tuple(found), anchor

    def mark(self, failure: str, turn: int) -> int:
        """Note an error line as one term; return its number."""
        number = self._number(f"!{failure}")
        self._note([number], turn, said=False)
        return number

    def _note(self, found: Iterable[int], turn: int, *, said: bool) -> None:
        for number in found:
            if self.last[number] != turn:
                self.last[number] = turn
                self.turns[number] += 1
            if said:
                self.said[number] = True

    def find(self, text: str) -> frozenset[int]:
        """Return the numbers of the terms of `text` that were read before; nothing is noted."""
        keys = (_key(key, kind_of(key)) for match in _TERM.finditer(text) for key in _split(match[0]))
        return frozenset(self._numbers[key] for key in keys if key in self._numbers)

    def _enter(self, raw: str) -> tuple[int, ...]:
        numbers = tuple(self._number(key) for key in _split(raw))
        self._of_raw[raw] = numbers
        return numbers

    def _number(self, key: str) -> int:
        kind = kind_of(key)
        number = self._numbers.setdefault(_key(key, kind), len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
            self.turns.append(0)
            self.last.append(-1)
            self.said.append(False)
        return number

    def weights(self, turns: int) -> list[float]:
        """Return what keeping each term is worth, by number, in a conversation of `turns` turns."""
        return [self._weight(number, max(1, turns)) for number in range(len(self.kinds))]

    def _weight(self, number: int, turns: int) -> float:
        kind, seen = self.kinds[number], max(1, self.turns[number])
        if kind is Kind.WORD:
            weight = log(1 + turns / seen) / log(1 + turns)
        else:
            bonus = FILE_SAID_BONUS if kind is Kind.FILE else SAID_BONUS
            weight = (1 + bonus * self.said[number]) * (1 + REUSE_BONUS * log(seen))
        age = max(1, turns - self.last[number])
        fading: float = age ** (FADING_STRONG if kind in STRONG else FADING_WEAK)
        return WORTH[kind] * weight / fading


def _split(raw: str) -> list[str]:
    """Return the terms of a match: pairs of characters where words are not spaced."""
    return [left + right for left, right in pairwise(raw)] if _UNSPACED_RUN.match(raw) and len(raw) > 1 else [raw]


def _key(term: str, kind: Kind) -> str:
    return term.lower() if kind is Kind.WORD else term
