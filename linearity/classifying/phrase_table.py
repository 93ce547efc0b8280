"""A table of phrases: by which words a language states what is to hold, read from text that anybody can write.

A line of a table is ``name: phrase; phrase``, a line that begins with white space goes on with the last one, and ``#`` at the beginning
of a line makes it a comment. These names have a meaning, any other is a list that phrases refer to:

- ``question`` words begin a question; where none begins it, what stands before its last comma is told and not asked; in a language without spaces they show a question wherever they stand;
- ``opener`` may stand before a clause ("please", "and", "could you"), and one that begins with a word of ``joining``, if there is such a list, between two;
- ``idiom`` holds words of a rule and states nothing ("never mind");
- ``asking`` at the beginning of a clause ("could you") and ``polite`` anywhere ("please") make an order of a question;
- ``rule`` states a constraint;
- ``hint`` states one, and ``wish`` a lasting preference, that in a question too, unless a ``tale`` shows that the sentence narrates;
- ``order`` shows the shape of an order, a name that begins with ``sign_`` something that makes it last, one with ``doubt_`` something that makes it pass: an order with
  more of those names than of these counts as a hint, in a long text with two more (a hint with one), and one more for every 25 words; a hint counts for two;
- ``guess`` may be an order: it takes one sign more;
- ``task`` shows that a sentence asks for something once or tells what the speaker does: then a hint states nothing;
- ``report`` shows that a sentence gives the words of somebody else: it states nothing;
- in a long text a hint states nothing either where words of ``self`` stand and none of ``address``: there somebody tells a story;
- ``common`` words tell the language: without one of them no hint and no wish counts (nor a rule, in a language without spaces), where a table has such a list; where a word of ``foreign`` stands none counts either.

A phrase is a run of whole words. In it ``^`` stands for the beginning of a clause, ``<`` for that of the sentence or what follows a colon, ``$`` for the end of a clause, ``…`` for any words
of the sentence, ``~`` for up to four words of the clause, ``#`` for a number, ``*ing`` and ``un*`` for a word that ends or begins so, ``{list}`` for a phrase of that list
and ``{!list}`` for one word that is not in it (``{!word}``: another word). A table whose first line is ``spaces: no`` is for a language that
writes none: there phrases are substrings, in which ``^``, ``$``, ``…`` and ``{list}`` stand for the same.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from importlib.resources import files
from itertools import product
from typing import Protocol

from attrs import define, field, frozen

from polycontext.linearity.classifying.phrase import BLANK, BREAKS, SIGNS, Ending, Other, Part, Phrase, Run, Said, Words, blank
from polycontext.linearity.classifying.prose import parts
from polycontext.linearity.errors import InvalidOptionError

OWN = ("en", "de", "fr", "es", "zh", "ja")
"""The languages of which this library brings a table."""
KINDS = ("rule", "hint", "wish", "order", "guess", "tale", "task", "report", "idiom")
SIGN, DOUBT = "sign_", "doubt_"
ENOUGH = 2
"""So many doubts a rule bears, and as many signs is a hint worth."""
LONG = 25
"""For so many words of a sentence one sign more is needed."""
STATING = ("rule", "hint", "wish", SIGN)
LONGEST_HINT = 340
"""How many letters a sentence may have that states a constraint by a hint or a wish alone."""

_RULING = frozenset(STATING[:1])
_CLAUSE = re.compile(r"[，、；：:,;（）()…—\s]+")
_LISTED = re.compile(r"\{(!?)(\w+)\}")
_COLONS = frozenset(":：")


class Table(Protocol):
    """Tell, for one language, which texts may state a constraint and which sentences do."""

    def may_state(self, content: str, words: AbstractSet[str]) -> bool:
        """Tell whether `content`, which has these `words`, may hold a sentence that states a constraint: quick, and never wrongly false."""
        ...

    def states(self, sentence: str, tokens: Sequence[str], *, asks: bool, narrates: bool) -> bool:
        """Tell whether `sentence` states one; `asks` that it ends as a question, `narrates` that it stands in a long text of many."""
        ...


@frozen(eq=False)
class SpacedTable:
    """Know the phrases of a language that writes spaces between words."""

    by_word: dict[str, list[tuple[str, Phrase]]]
    unbound: list[tuple[str, Phrase]]
    stating: frozenset[str]
    signs: list[str]
    doubts: list[str]
    openers: Words
    polite: Words
    asking: Words
    common: frozenset[str]
    foreign: frozenset[str]
    question: frozenset[str]
    joining: AbstractSet[str]
    own: frozenset[str]
    address: frozenset[str]
    bits: dict[str, int]

    def may_state(self, content: str, words: AbstractSet[str]) -> bool:
        """Tell whether every word stands in the text that some phrase needs; in a text of another language only rules count."""
        met = words & self.by_word.keys()
        stating = _RULING if self._is_foreign(words - self.foreign) else self.stating
        phrases = [phrase for word in met for kind, phrase in self.by_word[word] if kind in stating]
        has = self._has(words) if phrases else 0
        return any(phrase.needs & has == phrase.needs for phrase in phrases)

    def states(self, sentence: str, tokens: Sequence[str], *, asks: bool, narrates: bool) -> bool:
        """Tell whether `sentence` states a constraint; what stands before the last comma of a question states one as if nothing was asked."""
        if asks and "," in tokens and tokens[0] not in self.question:
            told = len(tokens) - 1 - tokens[::-1].index(",")
            if self.states(sentence, tokens[:told], asks=False, narrates=narrates):
                return True
        words = {*tokens}
        phrases = self._phrases(words)
        if phrases.keys().isdisjoint(_RULING if self._is_foreign(words) else self.stating):
            return False
        said = Said([*tokens])
        self._find_starts(said)
        whole = Said([*tokens], said.begins, said.places)
        for idiom in phrases.get("idiom", ()):
            blank(idiom, said)
        found = _Found(phrases, said)
        return self._outweighs(found, orders=not asks or self._is_polite(said), narrates=narrates) and not _Found(phrases, whole).any(
            "report"
        )

    def _outweighs(self, found: "_Found", *, orders: bool, narrates: bool) -> bool:
        """Tell whether what speaks for a constraint outweighs what speaks against it; most sentences end where nothing speaks for one."""
        tokens = found.said.tokens
        rule, hint, wish = orders and found.any("rule"), orders and found.any("hint"), not narrates and found.any("wish")
        ordered, guessed = orders and found.any("order"), orders and found.any("guess")
        signs = max(0, sum(map(found.any, self.signs)) - (not ordered)) if ordered or guessed else 0
        if sum(map(len, tokens)) > LONGEST_HINT or self._is_foreign({*tokens}):
            wish, signs, hint = False, 0, False
        speaks = ENOUGH * hint + signs - len(tokens) // LONG
        if not (rule or wish or speaks > 0):
            return False
        doubts = sum(map(found.any, self.doubts)) + narrates
        if rule and doubts + narrates <= ENOUGH:
            return True
        tells = narrates and not ordered and not self.own.isdisjoint(tokens) and self.address.isdisjoint(tokens)
        hinted = speaks > doubts + (narrates and not hint) and not tells and not found.any("task")
        return (hinted or (wish and doubts < ENOUGH)) and not found.any("tale")

    def _phrases(self, words: AbstractSet[str]) -> dict[str, list[Phrase]]:
        """Return the phrases all of whose words are there, by their kinds."""
        has = self._has(words)
        phrases: dict[str, list[Phrase]] = {}
        for known in (self.unbound, *(self.by_word[word] for word in words & self.by_word.keys())):
            for kind, phrase in known:
                if phrase.needs & has == phrase.needs:
                    phrases.setdefault(kind, []).append(phrase)
        return phrases

    def _is_foreign(self, words: AbstractSet[str]) -> bool:
        return (bool(self.common) and self.common.isdisjoint(words)) or not self.foreign.isdisjoint(words)

    def _has(self, words: AbstractSet[str]) -> int:
        has = 0
        for word in words & self.bits.keys():
            has |= self.bits[word]
        return has

    def _find_starts(self, said: Said) -> None:
        said.starts.add(0)
        said.first.add(0)
        for place, token in enumerate(said.tokens):
            if token in self.openers.by_first and (place in said.starts or token in self.joining):
                opened = self.openers.ends(said, place)
                said.starts.update(opened)
                if place in said.first:
                    said.first.update(opened)
            if token in BREAKS:
                said.starts.add(place + 1)
                if token in _COLONS or place in said.first:
                    said.first.add(place + 1)
        said.index()

    def _is_polite(self, said: Said) -> bool:
        if any(self.asking.ends(said, place) for place in said.starts):
            return True
        return any(self.polite.ends(said, place) for place in range(len(said.tokens)))


@frozen
class _Found:
    """Hold a sentence and, by their kinds, the phrases that may stand in it."""

    phrases: Mapping[str, Sequence[Phrase]]
    said: Said

    def any(self, kind: str) -> bool:
        """Tell whether a phrase of this kind stands there."""
        return any(phrase.fits(self.said) for phrase in self.phrases.get(kind, ()))


@frozen(eq=False)
class UnspacedTable:
    """Know the phrases of a language that writes no spaces: every run of a phrase is some substrings, one of which must be there."""

    single: dict[str, list[str]]
    kinds: dict[str, list[tuple[tuple[str, ...], ...]]]
    openers: tuple[str, ...]
    question: tuple[str, ...]
    polite: tuple[str, ...]
    common: tuple[str, ...]
    foreign: tuple[str, ...]

    def may_state(self, content: str, words: AbstractSet[str]) -> bool:
        """Tell whether `content` has letters of such a language."""
        return _UNSPACED.search(content) is not None

    def states(self, sentence: str, tokens: Sequence[str], *, asks: bool, narrates: bool) -> bool:
        """Tell whether `sentence` states a constraint."""
        told = sentence.__contains__
        if _UNSPACED.search(sentence) is None or any(map(told, self.foreign)) or (self.common and not any(map(told, self.common))):
            return False
        clauses = [clause for clause in _CLAUSE.split(sentence.strip("。！？!?.")) if clause]
        said = "".join(f"^{clause}$" for whole in clauses for clause in dict.fromkeys((whole, self._opened(whole))))
        if self._any("report", said):
            return False
        for idiom in self.single["idiom"]:
            said = said.replace(idiom, BLANK)
        asks = asks or any(map(said.__contains__, self.question))
        orders = not asks or any(map(told, self.polite))
        doubts = self._count(DOUBT, said) + narrates
        if orders and doubts <= ENOUGH and self._any("rule", said):
            return True
        signs = self._count(SIGN, said) if self._any("order", said) else 0
        asked = not narrates or any(word in sentence for word in self.polite)
        hinted = orders and asked and ENOUGH * self._any("hint", said) + signs > doubts and not self._any("task", said)
        wished = not narrates and not hinted and doubts < ENOUGH and self._any("wish", said)
        return (hinted or wished) and not self._any("tale", said)

    def _count(self, prefix: str, said: str) -> int:
        return sum(self._any(kind, said) for kind in self.kinds if kind.startswith(prefix))

    def _opened(self, clause: str) -> str:
        while opener := next((each for each in self.openers if clause.startswith(each)), ""):
            clause = clause[len(opener) :]
        return clause

    def _any(self, kind: str, said: str) -> bool:
        return any(map(said.__contains__, self.single[kind])) or any(_follow(runs, said) for runs in self.kinds[kind])


_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def _follow(runs: Iterable[Sequence[str]], said: str) -> bool:
    """Tell whether one substring of each of `runs` stands in `said`, one run after another: the one that ends first is taken."""
    place = 0
    for run in runs:
        ends = [found + len(each) for each in run if (found := said.find(each, place)) >= 0]
        if not ends:
            return False
        place = min(ends)
    return True


def _kinds(lists: Mapping[str, Sequence[str]]) -> list[str]:
    return [*KINDS, *(name for name in lists if name.startswith((SIGN, DOUBT)))]


def read_table(text: str) -> Table:
    r"""Return the table that `text` holds, in the form that this module tells.

    Raises:
        InvalidOptionError: a line that is none, a list that is not there, a phrase without words.

    >>> table = read_table("rule: toujours; {verb} ~ en {tongue}\nverb: réponds\ntongue: français")
    >>> from polycontext.linearity.classifying.phrase import tokens_of
    >>> [table.states(said, tokens_of(said), asks=False, narrates=False) for said in ("Réponds-moi en français", "Réponds en français")]
    [False, True]
    """
    spaced, lists = _lists(text)
    return _Reader(lists).table() if spaced else _unspaced(lists)


def own_tables() -> Iterator[Table]:
    """Iterate over the tables of this library, read from its files."""
    folder = files("polycontext.linearity.classifying").joinpath("tables")
    for language in OWN:
        yield read_table(folder.joinpath(f"{language}.txt").read_text(encoding="utf-8"))


def _lists(text: str) -> tuple[bool, dict[str, list[str]]]:
    lists: dict[str, list[str]] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace() or not name:
            name = line.partition(":")[0]
            if not name.isidentifier() or name == line:
                raise InvalidOptionError(f"line {number} of the table", line, "name: phrase; phrase")
        told = line if line[0].isspace() else line[len(name) + 1 :]
        lists.setdefault(name, []).extend(phrase.strip() for phrase in told.split(";") if phrase.strip())
    return lists.pop("spaces", ["yes"]) != ["no"], lists


def _named(lists: Mapping[str, list[str]], name: str) -> list[str]:
    if name not in lists:
        raise InvalidOptionError("a list of the table", name, f"one of {', '.join(sorted(lists))}")
    return lists[name]


@define
class _Reader:
    """Read the phrases of a language with spaces, and give every word or list that a phrase needs a bit."""

    lists: Mapping[str, list[str]]
    bits: dict[str, int] = field(factory=dict)
    _words_of: dict[int, set[str]] = field(factory=dict)
    _known: dict[str, tuple[Words, int]] = field(factory=dict)

    def table(self) -> SpacedTable:
        """Return the table with all phrases read."""
        kinds = _kinds(self.lists)
        phrases = [(kind, self._phrase(kind, text)) for kind in kinds for text in self.lists.get(kind, ())]
        openers, polite, asking = (_words(map(_split, self.lists.get(name, ()))) for name in ("opener", "polite", "asking"))
        single = (self._single(self.lists.get(name, ())) for name in ("common", "foreign", "question", "joining", "self", "address"))
        common, foreign, question, joining, own, address = single
        return SpacedTable(
            self._by_word(phrases),
            [(kind, phrase) for kind, phrase in phrases if not phrase.bits],
            frozenset(kind for kind in kinds if kind.startswith(STATING)),
            [kind for kind in kinds if kind.startswith(SIGN)],
            [kind for kind in kinds if kind.startswith(DOUBT)],
            openers,
            polite,
            asking,
            common,
            foreign,
            question,
            joining or openers.by_first.keys(),
            own,
            address,
            self.bits,
        )

    def _by_word(self, phrases: Sequence[tuple[str, Phrase]]) -> dict[str, list[tuple[str, Phrase]]]:
        """Return the phrases by the words of that part of each which is met most seldom: by few words, and long ones."""
        often = {bit: sum(8 ** max(0, 4 - len(word)) for word in words) for bit, words in self._words_of.items()}
        by_word: dict[str, list[tuple[str, Phrase]]] = {}
        for kind, phrase in phrases:
            for word in self._words_of[min(phrase.bits, key=often.__getitem__)] if phrase.bits else ():
                by_word.setdefault(word, []).append((kind, phrase))
        return by_word

    def _phrase(self, kind: str, text: str) -> Phrase:
        runs = [[self._part(each) for each in run.split()] for run in text.split("…")]
        bits = {bit for run in runs for _, bit in run if bit}
        if not bits and (kind.startswith(STATING) or not any(isinstance(part, Other | Ending) for run in runs for part, _ in run)):
            raise InvalidOptionError("a phrase of the table", text, "at least one word or list")
        return Phrase(tuple(Run.of([part for part, _ in run]) for run in runs), sum(bits), tuple(bits))

    def _part(self, text: str) -> tuple[Part, int]:
        if sign := SIGNS.get(text):
            return sign, 0
        if "*" in text:
            prefix, _, suffix = text.partition("*")
            return Ending(prefix, suffix), 0
        if text in BREAKS:
            return _words([(text,)]), 0
        listed = _LISTED.fullmatch(text)
        if listed and listed[1]:
            return Other(self._single(self.lists.get(listed[2], [listed[2]]))), 0
        if text not in self._known:
            self._known[text] = self._numbered([_split(each) for each in (_named(self.lists, listed[2]) if listed else [text])])
        return self._known[text]

    def _numbered(self, phrases: Sequence[tuple[str, ...]]) -> tuple[Words, int]:
        bit = 1 << len(self._known)
        self._words_of[bit] = {max(phrase, key=len) for phrase in phrases}
        for key in self._words_of[bit]:
            self.bits[key] = self.bits.get(key, 0) | bit
        return _words(phrases), bit

    def _single(self, words: Iterable[str]) -> frozenset[str]:
        return frozenset(part for word in words for part in parts(word))


def _split(phrase: str) -> tuple[str, ...]:
    return tuple(part for word in phrase.split() for part in parts(word))


def _words(phrases: Iterable[tuple[str, ...]]) -> Words:
    by_first: dict[str, list[list[str]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        by_first.setdefault(phrase[0], []).append([*phrase])
    return Words(by_first)


def _unspaced(lists: Mapping[str, list[str]]) -> UnspacedTable:
    def runs(text: str) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(_spelled(lists, run.strip())) for run in text.split("…"))

    kinds = {kind: [runs(text) for text in lists.get(kind, ())] for kind in _kinds(lists)}
    single = {kind: [each for run, *more in kinds[kind] if not more for each in run] for kind in kinds}
    more = {kind: [runs for runs in kinds[kind] if len(runs) > 1] for kind in kinds}
    return UnspacedTable(single, more, *(tuple(lists.get(name, ())) for name in ("opener", "question", "polite", "common", "foreign")))


def _spelled(lists: Mapping[str, list[str]], run: str) -> Iterator[str]:
    """Iterate over the strings that `run` stands for, every list in it replaced by each of its phrases."""
    pieces = [_named(lists, piece) if number % 2 else [piece] for number, piece in enumerate(_NAMED.split(run))]
    return map("".join, product(*pieces))


_NAMED = re.compile(r"\{(\w+)\}")
