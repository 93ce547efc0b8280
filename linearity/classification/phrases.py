r"""Tables of the phrases people use to state standing instructions.

The phrases are data, with one table for each language (`linearity/classification/tables`). A table
matches phrases and their order in a sentence; it does not understand the text.

A line of a table is ``name: phrase; phrase``. A line that begins with white space continues the
previous line, and a line that begins with ``#`` is a comment. These names have a meaning; every
other name is a list that phrases refer to:

- ``rule`` states a standing instruction;
- ``order`` states one too, unless the same sentence has a phrase of ``once`` ("now", "this time");
- ``note`` states a preference or a fact about the user;
- ``told`` marks a sentence as a report or a quotation, which states nothing;
- ``opener`` may precede a clause ("please", "could you", "make sure to"), and ``joining`` may stand
  between two clauses ("and").

A phrase is a sequence of whole words. In a phrase, ``^`` is the beginning of a clause, ``<`` the
beginning of the sentence, ``$`` the end of a clause, ``…`` any words of the sentence, ``~`` up to
four words of the clause, ``#`` a number, ``*ing`` a word with this ending, ``{list}`` a phrase of
that list, and ``{!list}`` one word that does not begin a phrase of it (``{!word}``: another word).
In a script without spaces between words, each character is a word.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files

from attrs import frozen

from polycontext.base import InvalidOptionError, require

LANGUAGES = ("en", "de", "fr", "es", "zh", "ja")
"""The languages that this library has a table for."""
KINDS = ("rule", "order", "note", "once", "told")

_MARKS = ",;:—–()¿¡…，；：、-"
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces between words."""
_LETTER = rf"[^\W{_UNSPACED}]"
_TOKEN = re.compile(
    rf"[{_UNSPACED}]|(?<![-'`./])(?<!{_LETTER}){_LETTER}(?:{_LETTER}|[-'`./])*|[{_MARKS[:-1]}]"
    rf"|(?<=\s)-(?=\s)"
)
_CHARACTER = re.compile(f"[{_UNSPACED}]")
_ELIDED = re.compile(r"\b((?:[cdjlmnst]|qu)')(?=\w)")
_ELEMENT = re.compile(r"\{!?\w+\}|[<^$~#…]|[^\s{}<^$~#…]+")
_SIGNS = "^<$~#…"
_LONGEST_GAP, _MOST_BETWEEN, _MOST_OPENERS = 60, 4, 6
"""The most words that ``…`` and ``~`` stand for, and the most openers before a clause."""

Words = tuple[str, ...]


@frozen(eq=False)
class _Choice:
    """The alternatives of an element; those with ``*`` are a pattern as well."""

    units: frozenset[Words]
    heads: frozenset[str]
    pattern: re.Pattern[str] | None
    longest: int

    def ends(self, words: Sequence[str], start: int) -> Iterator[int]:
        """Yield where the alternatives end that begin at `start`, the longest first."""
        if self.pattern is None and (start >= len(words) or words[start] not in self.heads):
            return
        for length in range(min(self.longest, len(words) - start), 0, -1):
            said = words[start : start + length]
            if tuple(said) in self.units or (
                self.pattern and self.pattern.fullmatch(" ".join(said))
            ):
                yield start + length


def _choice(phrases: Iterable[str]) -> _Choice:
    units = frozenset(map(_spelled, phrases))
    open_ones = [" ".join(unit) for unit in units if "*" in "".join(unit)]
    pattern = "|".join(re.escape(each).replace(r"\*", r"\S*") for each in open_ones)
    return _Choice(
        units,
        frozenset(unit[0] for unit in units),
        re.compile(pattern) if pattern else None,
        max(map(len, units), default=0),
    )


class _Lists:
    """The lists of one table, as sequences of words."""

    def __init__(self, lists: Mapping[str, Sequence[str]]) -> None:
        self._lists = lists
        self._choices: dict[str, _Choice] = {}

    @cached_property
    def _joining(self) -> frozenset[str]:
        return frozenset(_spelled(phrase)[-1] for phrase in self._lists.get("joining", ()))

    def choice(self, element: str) -> _Choice:
        """Return the alternatives of an element.

        Raises:
            InvalidOptionError: the element names a list that the table does not have.
        """
        if element not in self._choices:
            name = element.strip("{!}")
            if element[0] == "{" and name not in self._lists and element[1] != "!":
                legal = f"one of {', '.join(sorted(self._lists))}"
                raise InvalidOptionError("a list of the table", element, legal)
            is_list = element[0] == "{" and name in self._lists
            self._choices[element] = _choice(self._lists[name] if is_list else [name])
        return self._choices[element]

    def starts(self, words: Sequence[str], *, of_sentence: bool) -> frozenset[int]:
        """Return where a clause or the sentence may begin, openers left out or not."""
        found = {0}
        if not of_sentence:
            found.update(
                n + 1 for n, word in enumerate(words) if word in self._joining or word in _MARKS
            )
        last = found
        for _ in range(_MOST_OPENERS if "opener" in self._lists else 0):
            last = {end for start in last for end in self._opened(words, start)} - found
            found |= last
        return frozenset(found)

    def _opened(self, words: Sequence[str], start: int) -> Iterator[int]:
        for end in self.choice("{opener}").ends(words, start):
            yield end
            if words[end : end + 1] == [","]:
                yield end + 1


@frozen
class Phrase:
    """A phrase of a table, which says that a sentence is of a kind."""

    kind: str
    elements: Words
    lists: _Lists

    def stands_in(self, words: Sequence[str], starts: Mapping[str, frozenset[int]]) -> bool:
        """Return whether a sentence with these `words` has the phrase.

        `starts` says where a clause ("^") and the sentence ("<") may begin.
        """
        first, *rest = self.elements
        if first in "^<":
            return any(self._goes_on(rest, words, start) for start in starts[first])
        return any(self._goes_on(self.elements, words, start) for start in range(len(words)))

    def _goes_on(self, elements: Sequence[str], words: Sequence[str], start: int) -> bool:
        if not elements:
            return True
        return any(
            self._goes_on(elements[1:], words, end) for end in self._ends(elements[0], words, start)
        )

    def _ends(self, element: str, words: Sequence[str], start: int) -> Iterable[int]:
        """Return where an element may end that begins at `start`."""
        word = words[start] if start < len(words) else ""
        if element == "$":
            return (start,) if not word or _is_break(word) else ()
        if element == "…":
            return range(start, min(len(words), start + _LONGEST_GAP) + 1)
        if element == "~":
            return _between(words, start)
        if element == "#":
            return (start + 1,) if word[:1].isdigit() else ()
        if element.startswith("{!"):
            is_other = (
                word
                and not _is_break(word)
                and not any(self.lists.choice(element).ends(words, start))
            )
            return (start + 1,) if is_other else ()
        return self.lists.choice(element).ends(words, start)


def _is_break(word: str) -> bool:
    return word in _MARKS


def _between(words: Sequence[str], start: int) -> Iterator[int]:
    """Yield `start` and the places behind up to four words; two characters count as a word."""
    yield start
    room = 2 * _MOST_BETWEEN
    for place in range(start, len(words)):
        room -= 1 if _CHARACTER.match(words[place]) else 2
        if room < 0 or _is_break(words[place]):
            return
        yield place + 1


@frozen(eq=False)
class Table:
    """The phrases of one language, which suggest what a sentence states.

    `phrases` maps a word to the phrases that need this word, and `verbs` are the words of the list
    ``verb``.
    """

    phrases: Mapping[str, Sequence[Phrase]]
    verbs: tuple[str, ...] = ()

    def near(self, words: Iterable[str]) -> dict[str, set[Phrase]]:
        """Return the phrases that may stand in a sentence with these `words`, by their kinds."""
        found: dict[str, set[Phrase]] = {}
        for word in words:
            for phrase in self.phrases.get(word, ()):
                found.setdefault(phrase.kind, set()).add(phrase)
        return found

    def kinds_of(self, words: Sequence[str]) -> frozenset[str]:
        """Return the kinds of the phrases that stand in a sentence with these `words`."""
        said = [*words]
        starts: dict[_Lists, Mapping[str, frozenset[int]]] = {}
        kinds = set[str]()
        for kind, phrases in self.near(words).items():
            for phrase in phrases:
                if phrase.lists not in starts:
                    starts[phrase.lists] = {
                        "^": phrase.lists.starts(said, of_sentence=False),
                        "<": phrase.lists.starts(said, of_sentence=True),
                    }
                if phrase.stands_in(said, starts[phrase.lists]):
                    kinds.add(kind)
                    break
        return frozenset(kinds)


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case and the marks that break it into clauses.

    An elided word, such as "l'" in French "l'eau", is a word of its own.

    >>> words_of("One rule: don't push, ever!")
    ['one', 'rule', ':', "don't", 'push', ',', 'ever']
    """
    plain = sentence.lower().replace("’", "'")
    if "'" in plain:
        plain = _ELIDED.sub(r"\1 ", plain)
    return [token.rstrip("./-`").strip("_") or token for token in _TOKEN.findall(plain)]


def read_table(text: str) -> Table:
    r"""Return the table in `text`, which has the format described in this module's docstring.

    Raises:
        InvalidOptionError: a line is malformed, a list does not exist, or a phrase has no words.

    >>> table = read_table("rule: toujours; {verb} ~ en {tongue}\nverb: réponds\ntongue: français")
    >>> said = ("Réponds-moi en français", "Réponds en français")
    >>> [sorted(table.kinds_of(words_of(sentence))) for sentence in said]
    [[], ['rule']]
    """
    return _table(_lists(text))


def _table(named: Mapping[str, Sequence[str]]) -> Table:
    lists = _Lists(named)
    phrases: dict[str, list[Phrase]] = {}
    for kind in KINDS:
        for text in named.get(kind, ()):
            phrase = Phrase(kind, tuple(_ELEMENT.findall(text)), lists)
            for key in _keys(text, phrase):
                phrases.setdefault(key, []).append(phrase)
    return Table(phrases, tuple(named.get("verb", ())))


def _keys(text: str, phrase: Phrase) -> Iterable[str]:
    """Return the words of which a sentence must contain at least one to have `phrase`.

    Each element of the phrase gives a set with the longest word of each of its alternatives. The
    set whose words are rarest, judged by their length, is returned.
    """
    needed = (each for each in phrase.elements if each not in _SIGNS and not each.startswith("{!"))
    choices = [
        frozenset(max(unit, key=len) for unit in choice.units)
        for choice in map(phrase.lists.choice, needed)
        if choice.pattern is None
    ]
    legal = "at least one word, or list of words, without a *"
    require("a phrase of the table", text, choices, legal)
    return min(choices, key=_frequency)


@lru_cache(1_024)
def _frequency(words: frozenset[str]) -> int:
    return sum(8 ** max(0, 4 - len(word)) for word in words)


@cache
def own_table() -> Table:
    """Return the phrases of this library in all its languages, read from its files."""
    return joined(map(_table, map(own_lists, LANGUAGES)))


def joined(tables: Iterable[Table]) -> Table:
    """Return one table with the phrases of several."""
    phrases: dict[str, list[Phrase]] = {}
    verbs: list[str] = []
    for table in tables:
        verbs += table.verbs
        for word, its in table.phrases.items():
            phrases.setdefault(word, []).extend(its)
    return Table(phrases, tuple(verbs))


def own_lists(name: str) -> dict[str, list[str]]:
    """Return the lists of a file of this library's tables."""
    return _lists(own_data("tables", f"{name}.txt").decode())


def own_data(folder: str, name: str) -> bytes:
    """Return the bytes of a file in a folder of this package."""
    package = files("polycontext.linearity.classification")
    return package.joinpath(folder).joinpath(name).read_bytes()


def _lists(text: str) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        told = line
        if not line[0].isspace() or not name:
            name, colon, told = line.partition(":")
            fits = name.isidentifier() and colon
            require(f"line {number} of the table", line, fits, "name: phrase; phrase")
        lists.setdefault(name, []).extend(
            phrase.strip() for phrase in told.split(";") if phrase.strip()
        )
    return lists


@lru_cache(8_192)
def _spelled(phrase: str) -> Words:
    return tuple(_CHARACTER.sub(r" \g<0> ", _ELIDED.sub(r"\1 ", phrase)).split())
