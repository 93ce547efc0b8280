r"""Find the rules in a turn that stand for the rest of the conversation, by the words with which people state them.

The words are data, a table for each language (`linearity/classification/tables`): phrases and their
order in a sentence are matched, nothing is understood. The share of the window that such turns may
preserve (see `default_classifier`) bounds a misreading.

A line of a table is ``name: phrase; phrase``. A line that begins with white space continues the one
before it, and a line that begins with ``#`` is a comment. These names have a meaning; every other
name is a list that phrases refer to:

- ``rule`` states a standing instruction;
- ``order`` states one too, unless something of ``once`` stands in the same sentence ("now", "this
  time");
- ``note`` states a preference or a fact about the user;
- ``told`` shows that a sentence tells a story or repeats somebody's words: it states nothing;
- ``opener`` may stand before a clause ("please", "make sure to"), and ``joining`` between two
  ("and");
- ``asking`` is an opener that makes an order of a question ("could you").

A phrase is a run of whole words. In it ``^`` is the beginning of a clause, ``<`` that of the
sentence, ``$`` the end of a clause, ``…`` any words of the sentence, ``~`` up to four words of the
clause, ``#`` a number, ``*ing`` a word that ends so, ``{list}`` a phrase of that list and
``{!list}`` one word that does not begin a phrase of it (``{!word}``: another word). In a script
that writes no spaces between words, each character is a word of its own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

from attrs import frozen

from ..errors import InvalidOptionError
from .prose import is_bullet, sentences, unbulleted, unquoted

LANGUAGES = ("en", "de", "fr", "es", "zh", "ja")
"""The languages of which this library brings a table."""
KINDS = ("rule", "order", "note", "once", "told")
STATING = frozenset(KINDS[:3])

_MARKS = ",;:—–()¿¡…，；：、"
_BREAK = rf"[{_MARKS}\-]"
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts that write no spaces between words."""
_LETTER = rf"[^\W{_UNSPACED}]"
_TOKEN = re.compile(
    rf"[{_UNSPACED}]|(?<![-'`./])(?<!{_LETTER}){_LETTER}(?:{_LETTER}|[-'`./])*|[{_MARKS}]|(?<=\s)-(?=\s)"
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
"""What the signs stand for; where each character is a word, two of them count as one."""

Phrases = Mapping[str, Sequence[tuple[str, str]]]


@frozen(eq=False)
class Table:
    """Tell, for one language, what a sentence states.

    `phrases` are regular expressions by kind, under the word that each of them needs.
    """

    phrases: Phrases
    asking: str

    def may_state(self, words: Iterable[str]) -> bool:
        """Return whether a text of these `words` may hold a sentence that states something: quick, and never wrongly false."""
        return any(kind in STATING for word in words for kind, _ in self.phrases.get(word, ()))

    def kind_of(self, sentence: str, *, asks: bool = False, weighs: bool = True) -> str:
        """Return ``rule`` for a standing instruction, ``note`` for a preference, or nothing.

        `asks` tells that the sentence is a question.

        Without `weighs` an ``order`` counts for nothing.
        """
        said = " ".join([*words_of(sentence), ""])
        near = [
            phrase for word in dict.fromkeys(said.split()) for phrase in self.phrases.get(word, ())
        ]
        if not any(kind in STATING for kind, _ in near):
            return ""
        found = {kind for kind, phrase in near if _compiled(phrase).search(said)}
        if "told" in found:
            return ""
        orders = not asks or bool(self.asking and _compiled(self.asking).search(said))
        if orders and ("rule" in found or (weighs and "order" in found and "once" not in found)):
            return "rule"
        return "note" if "note" in found else ""


_compiled = cache(re.compile)


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case and the marks that break it into clauses.

    In French an apostrophe ends a word.

    >>> words_of("One rule: don't push, ever!")
    ['one', 'rule', ':', "don't", 'push', ',', 'ever']
    """
    plain = _ELIDED.sub(r"\1 ", sentence.lower().replace("’", "'"))
    return [token.rstrip("./-`").strip("_") or token for token in _TOKEN.findall(plain)]


def read_table(text: str) -> Table:
    r"""Return the table that `text` holds, in the form that this module describes.

    Raises:
        InvalidOptionError: a line that is none, a list that is not there, a phrase without words.

    >>> table = read_table("rule: toujours; {verb} ~ en {tongue}\nverb: réponds\ntongue: français")
    >>> [table.kind_of(said) for said in ("Réponds-moi en français", "Réponds en français")]
    ['', 'rule']
    """
    lists = _lists(text)
    reader = _Reader(lists)
    phrases: dict[str, list[tuple[str, str]]] = {}
    for kind in KINDS:
        for phrase in lists.get(kind, ()):
            pattern = reader.pattern(phrase)
            for key in reader.keys(phrase):
                phrases.setdefault(key, []).append((kind, pattern))
    return Table(phrases, reader.pattern("^ {asking}") if "asking" in lists else "")


def own_tables() -> Iterator[Table]:
    """Iterate over the tables of this library, read from its files."""
    folder = files("polycontext.linearity.classification").joinpath("tables")
    for language in LANGUAGES:
        yield read_table(folder.joinpath(f"{language}.txt").read_text(encoding="utf-8"))


def _lists(text: str) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        told = line
        if not line[0].isspace() or not name:
            name, colon, told = line.partition(":")
            if not name.isidentifier() or not colon:
                raise InvalidOptionError(
                    f"line {number} of the table", line, "name: phrase; phrase"
                )
        lists.setdefault(name, []).extend(
            phrase.strip() for phrase in told.split(";") if phrase.strip()
        )
    return lists


@frozen
class _Reader:
    """Make regular expressions of phrases."""

    lists: Mapping[str, Sequence[str]]

    def pattern(self, phrase: str) -> str:
        """Return the regular expression of a phrase."""
        return r"(?<!\S)" + "".join(map(self._part, _ELEMENT.findall(phrase)))

    def keys(self, phrase: str) -> Iterable[str]:
        """Return the words of which a sentence must have one: of each choice the longest word, of the choice whose words are met most seldom."""
        choices = [
            {max(_spelled(each), key=len) for each in self._named(element)}
            for element in _ELEMENT.findall(phrase)
            if not element.startswith("{!")
            and element not in _LONE
            and "*" not in "".join(self._named(element))
        ]
        if not choices:
            raise InvalidOptionError(
                "a phrase of the table", phrase, "at least one word, or list of words, without a *"
            )
        return min(choices, key=lambda words: sum(8 ** max(0, 4 - len(word)) for word in words))

    def _part(self, element: str) -> str:
        if element in "^<":
            behind = "".join(f"|(?<= {word} )" for word in self.lists.get("joining", ()))
            opened = self._any([*self.lists.get("opener", ()), *self.lists.get("asking", ())])
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


_LONE = frozenset("^<$~#…")


def _spelled(phrase: str) -> list[str]:
    return _CHARACTER.sub(r" \g<0> ", _ELIDED.sub(r"\1 ", phrase)).split()


LONGEST = 400
"""How many characters a sentence may have: nobody states a rule in more."""
SHORT = 280
"""How many characters a turn may have that is preserved whole."""
REMEMBERED, REMEMBERED_CHARS = 8_192, 1_000
"""How many texts of how many characters at most are remembered with what they state: a turn is
asked of when it comes in, and again for its gist."""

_WRAPPED = "\v"
"""What stands for the end of a wrapped line: no text has it within a line."""
_SPEAKER = re.compile(r"\A(?:[A-Z][\w.]* ){1,2}[A-Z]\w*: ")
"""A name before what somebody says, as minutes of a meeting have it."""


@frozen
class ConstraintRule:
    """Find the sentences that state a standing instruction, by `tables` of phrases, one for each language."""

    tables: tuple[Table, ...]

    def sentences(self, content: str) -> tuple[str, ...]:
        """Return the sentences that state one, in order and once each.

        Items of a list they announce follow them.
        """
        return self._find(content)[0]

    def notes(self, content: str) -> tuple[str, ...]:
        """Return the sentences that state a preference of the user or a fact about them, in order and once each."""
        return self._find(content)[1]

    def states(self, content: str) -> bool:
        """Tell whether `content` has a sentence that states an instruction."""
        return bool(self.sentences(content))

    def states_mostly(self, content: str) -> bool:
        """Tell whether `content` is short and such sentences make half of it or more."""
        length = len(content.strip())
        return length <= SHORT and 2 * sum(map(len, self.sentences(content))) >= max(1, length)

    def with_tables(self, *texts: str) -> "ConstraintRule":
        r"""Return the rule that knows the phrases of these tables too (docs/linearity.md, "A language of your own").

        Raises:
            InvalidOptionError: a text is no table; the field says which line or list.

        >>> rule = default_rule().with_tables("rule: vanaf nu; nooit")
        >>> rule.states("Vanaf nu alles in het Nederlands.")
        True
        """
        return ConstraintRule((*self.tables, *map(read_table, texts)))

    def _find(self, content: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        find = _find_cached if len(content) <= REMEMBERED_CHARS else _find
        return find(self.tables, content)


def _find(tables: tuple[Table, ...], content: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    words = set(words_of(content))
    may_state = [table for table in tables if table.may_state(words)]
    found: dict[str, dict[str, str]] = {"rule": {}, "note": {}}
    for kind, sentence in _kinds(may_state, content) if may_state else ():
        # Said again is said once, whatever its capitals, signs and spaces.
        found[kind].setdefault("".join(filter(str.isalnum, sentence.casefold())), sentence)
    return tuple(found["rule"].values()), tuple(found["note"].values())


_find_cached = lru_cache(REMEMBERED)(_find)


def _kinds(tables: list[Table], content: str) -> Iterator[tuple[str, str]]:
    announced = False
    known: dict[str, str] = {}
    # Minutes tell what people said to each other: there a mere order is none to the assistant.
    weighs = _SPEAKER.match(content) is None
    for wrapped in sentences(content, _WRAPPED):
        whole = wrapped.replace(_WRAPPED, " ")
        # A line that states an instruction by itself may stand behind a line without a full stop.
        for sentence in dict.fromkeys(
            (whole, *(wrapped.split(_WRAPPED) if whole != wrapped else ()))
        ):
            listed = announced and is_bullet(sentence)
            if (kind := known.get(sentence)) is None:
                kind = known[sentence] = _kind(tables, sentence, weighs=weighs)
            if kind := "rule" if listed else kind:
                yield kind, sentence
            announced = listed or (kind == "rule" and sentence.rstrip("*_ ").endswith((":", "：")))
            if kind == "rule":
                break


def _kind(tables: list[Table], sentence: str, *, weighs: bool) -> str:
    if len(sentence) > LONGEST:
        return ""
    asks = sentence.rstrip("\"'”’»)]*_").endswith(("?", "？"))
    said = unquoted(unbulleted(sentence))
    # "House Rules: ..." looks like a speaker, too.
    heard = dict.fromkeys((said, _SPEAKER.sub("", said)))
    return max(
        (table.kind_of(each, asks=asks, weighs=weighs) for table in tables for each in heard),
        default="",
    )


@cache
def default_rule() -> ConstraintRule:
    """Return the rule for English, German, French, Spanish, Chinese and Japanese.

    Its tables are read when it is first asked for.
    """
    return ConstraintRule(tuple(own_tables()))


def states_constraint(content: str) -> bool:
    """Tell whether `content` states a standing constraint: "from now on", "never", "must" and their like (docs/linearity.md, "The rule that classifies").

    Whole words count, in English, German, French, Spanish, Chinese and Japanese; code, logs and the
    words of others do not, questions only when they are polite orders or say what the user likes.
    Linear in the length of `content`.

    Law: ``states_constraint(c) == bool(constraint_sentences(c))``.

    >>> states_constraint("From now on, answer in French.")
    True
    >>> states_constraint("Never mind, it works.")
    False
    """
    return default_rule().states(content)


def constraint_sentences(content: str) -> tuple[str, ...]:
    """Return the sentences that state a standing constraint, in order and once each.

    Items of a list they announce follow them.

    >>> constraint_sentences("Hi! You must not delete files. How are you? Never push.")
    ('You must not delete files.', 'Never push.')
    """
    return default_rule().sentences(content)
