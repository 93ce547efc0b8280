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
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from attrs import frozen

from polycontext.base import InvalidOptionError, require

LANGUAGES = ("en", "de", "fr", "es", "zh", "ja")
"""The languages that this library has a table for."""
KINDS = ("rule", "order", "note", "once", "told")

_MARKS = ",;:—–()¿¡…，；：、"
_BREAK = rf"[{_MARKS}\-]"
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces between words."""
_LETTER = rf"[^\W{_UNSPACED}]"
_TOKEN = re.compile(
    rf"[{_UNSPACED}]|(?<![-'`./])(?<!{_LETTER}){_LETTER}(?:{_LETTER}|[-'`./])*|[{_MARKS}]"
    rf"|(?<=\s)-(?=\s)"
)
_CHARACTER = re.compile(f"[{_UNSPACED}]")
_ELIDED = re.compile(r"\b((?:[cdjlmnst]|qu)')(?=\w)")
_ELEMENT = re.compile(r"\{!?\w+\}|[<^$~#…]|[^\s{}<^$~#…]+")
_WORD = rf"(?:[{_UNSPACED}] (?:[{_UNSPACED}] )?|\S+ )"
_SIGNS = {
    "$": f"(?={_BREAK}|$)",
    "~": rf"(?:(?!{_BREAK}){_WORD}){{0,4}}?",
    "#": r"\d\S* ",
    "…": r"(?:\S+ ){0,60}?",
}
"""The regular expression of each sign. In a script where each character is a word, ``~`` counts two
characters as one word."""

Phrases = Mapping[str, Sequence[tuple[str, str]]]


@frozen(eq=False)
class Table:
    """The phrases of one language, which suggest what a sentence states.

    `phrases` maps a word to the kinds and regular expressions of the phrases that need this word,
    and `verbs` are the words of the list ``verb``.
    """

    phrases: Phrases
    verbs: tuple[str, ...] = ()

    def near(self, words: Iterable[str]) -> dict[str, set[str]]:
        """Return the phrases that may stand in a sentence with these `words`, by their kinds."""
        found: dict[str, set[str]] = {}
        for word in words:
            for kind, phrase in self.phrases.get(word, ()):
                found.setdefault(kind, set()).add(phrase)
        return found

    def kinds_of(self, words: Sequence[str]) -> frozenset[str]:
        """Return the kinds of the phrases that stand in a sentence with these `words`."""
        said = " ".join([*words, ""])
        return frozenset(
            kind
            for kind, phrases in self.near(words).items()
            if any(_compiled(phrase).search(said) for phrase in phrases)
        )


_compiled = cache(re.compile)


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


def _table(lists: Mapping[str, Sequence[str]]) -> Table:
    reader = _Reader(lists)
    phrases: dict[str, list[tuple[str, str]]] = {}
    for kind in KINDS:
        for phrase in lists.get(kind, ()):
            pattern = reader.pattern(phrase)
            for key in reader.keys(phrase):
                phrases.setdefault(key, []).append((kind, pattern))
    return Table(phrases, tuple(lists.get("verb", ())))


def own_table() -> Table:
    """Return the phrases of this library in all its languages, read from its files."""
    return joined(map(_table, map(own_lists, LANGUAGES)))


def joined(tables: Iterable[Table]) -> Table:
    """Return one table with the phrases of several."""
    phrases: dict[str, list[tuple[str, str]]] = {}
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


@frozen
class _Reader:
    """Converts phrases into regular expressions."""

    lists: Mapping[str, Sequence[str]]

    def pattern(self, phrase: str) -> str:
        """Return the regular expression of a phrase."""
        return r"(?<!\S)" + "".join(map(self._part, _ELEMENT.findall(phrase)))

    def keys(self, phrase: str) -> Iterable[str]:
        """Return the words of which a sentence must contain at least one to match `phrase`.

        Each element of the phrase gives a set with the longest word of each of its alternatives.
        The set whose words are rarest, judged by their length, is returned.
        """
        choices = [
            {max(_spelled(each), key=len) for each in self._named(element)}
            for element in _ELEMENT.findall(phrase)
            if not element.startswith("{!")
            and element not in "^<$~#…"
            and "*" not in "".join(self._named(element))
        ]
        legal = "at least one word, or list of words, without a *"
        require("a phrase of the table", phrase, choices, legal)
        return min(choices, key=lambda words: sum(8 ** max(0, 4 - len(word)) for word in words))

    def _part(self, element: str) -> str:
        if element in "^<":
            behind = "".join(f"|(?<= {word} )" for word in self.lists.get("joining", ()))
            opened = self._any(self.lists.get("opener", ()))
            start = "^" if element == "<" else f"(?:^|(?<={_BREAK})|(?<={_BREAK} ){behind})"
            return f"{start}(?:{opened}(?:, )?){{0,6}}"
        if element.startswith("{!"):
            name = element[2:-1]
            return rf"(?!{self._any(self.lists.get(name, [name]))}|{_BREAK})\S+ "
        return _SIGNS.get(element) or self._any(self._named(element))

    def _any(self, phrases: Iterable[str]) -> str:
        units = ["".join(f"{word} " for word in _spelled(phrase)) for phrase in phrases]
        spelled = (
            re.escape(unit).replace(r"\*", r"\S*") for unit in sorted(units, key=len, reverse=True)
        )
        return f"(?:{'|'.join(spelled) or '(?!)'})"

    def _named(self, element: str) -> Sequence[str]:
        if not element.startswith("{"):
            return (element,)
        if element[1:-1] not in self.lists:
            raise InvalidOptionError(
                "a list of the table", element, f"one of {', '.join(sorted(self.lists))}"
            )
        return self.lists[element[1:-1]]


def _spelled(phrase: str) -> list[str]:
    return _CHARACTER.sub(r" \g<0> ", _ELIDED.sub(r"\1 ", phrase)).split()
