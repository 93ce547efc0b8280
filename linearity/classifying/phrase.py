"""Phrases: runs of words and signs, and whether they stand in a sentence of words."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from attrs import define, field, frozen

from polycontext.linearity.classifying.prose import parts

_TOKEN = re.compile(r"(?<![-\w'`./])\w[-\w'`./]*|[,;:—–()¿¡…]|(?<=\s)-(?=\s)")
BREAKS = frozenset(",;:—–()¿¡…-")
_NEAR = 4
BLANK = "\0"


def tokens_of(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case and the marks that break it into clauses, each a token.

    >>> tokens_of("One rule: don't push, ever!")
    ['one', 'rule', ':', "don't", 'push', ',', 'ever']
    """
    return [
        part for token in _TOKEN.findall(sentence.lower().replace("’", "'")) for part in parts(token.rstrip("./-'`").strip("_") or token)
    ]


@define
class Said:
    """Hold a sentence as tokens, and where its clauses begin, and the first of them; when these are known, `index` makes them quick to find."""

    tokens: list[str]
    begins: "dict[type, list[int]]" = field(factory=dict)
    places: dict[str, list[int]] = field(factory=dict)
    starts: set[int] = field(factory=set, init=False)
    first: set[int] = field(factory=set, init=False)

    def index(self) -> None:
        """Note where each word stands, and in which order the clauses begin."""
        self.begins.update({Start: sorted(self.starts), First: sorted(self.first)})
        for place, token in enumerate(self.tokens):
            self.places.setdefault(token, []).append(place)


class Part(Protocol):
    """Fit a part of a phrase to a place in a sentence."""

    def ends(self, said: Said, place: int) -> Iterable[int]:
        """Return the places where this part may end that begins at `place`."""
        ...


@frozen
class Words:
    """Fit one of some runs of words, which are kept by their first word."""

    by_first: dict[str, list[list[str]]]

    def ends(self, said: Said, place: int) -> Iterable[int]:
        """Return where the phrases end that begin at `place`, the longest first."""
        tokens = said.tokens
        if place >= len(tokens) or (phrases := self.by_first.get(tokens[place])) is None:
            return ()
        if len(phrases) == 1 and len(phrases[0]) == 1:
            return (place + 1,)
        return [place + len(phrase) for phrase in phrases if tokens[place : place + len(phrase)] == phrase]


@frozen
class Other:
    """Fit one word that is none of some."""

    words: frozenset[str]

    def ends(self, said: Said, place: int) -> Iterable[int]:
        """Return the next place where another word stands here."""
        ok = (
            place < len(said.tokens)
            and said.tokens[place] not in self.words
            and said.tokens[place] not in BREAKS
            and said.tokens[place] != BLANK
        )
        return (place + 1,) if ok else ()


@frozen
class Ending:
    """Fit one word that begins and ends as said, or begins with a digit where nothing is said."""

    prefix: str
    suffix: str

    def ends(self, said: Said, place: int) -> Iterable[int]:
        """Return the next place where such a word stands here."""
        if place >= len(said.tokens):
            return ()
        token = said.tokens[place]
        fits = token.startswith(self.prefix) and token.endswith(self.suffix) if self.prefix or self.suffix else token[:1].isdigit()
        return (place + 1,) if fits else ()


@frozen
class Start:
    """Stand where a clause begins."""

    def ends(self, said: Said, place: int) -> Iterable[int]:
        """Return `place` where a clause begins there."""
        return (place,) if place in said.begins[Start] else ()


@frozen
class First:
    """Stand where the sentence begins, or what follows a colon."""

    def ends(self, said: Said, place: int) -> Iterable[int]:
        """Return `place` where the sentence begins there, its openers aside."""
        return (place,) if place in said.begins[First] else ()


@frozen
class _End:
    def ends(self, said: Said, place: int) -> Iterable[int]:
        """Return `place` where a clause ends there."""
        return (place,) if place == len(said.tokens) or said.tokens[place] in BREAKS else ()


@frozen
class _Near:
    def ends(self, said: Said, place: int) -> Iterable[int]:
        """Return this place and the next few of the clause."""
        for end in range(place, min(place + _NEAR, len(said.tokens)) + 1):
            yield end
            if end < len(said.tokens) and said.tokens[end] in BREAKS:
                return


SIGNS: dict[str, Part] = {"^": Start(), "<": First(), "$": _End(), "~": _Near(), "#": Ending("", "")}


@frozen
class Phrase:
    """Look for parts in a sentence: runs of parts, with anything between one run and the next; `needs` is the sum of the `bits` of its words."""

    runs: "tuple[Run, ...]"
    needs: int
    bits: tuple[int, ...] = ()

    def fits(self, said: Said) -> bool:
        """Tell whether the runs stand in the sentence, one after another."""
        place = 0
        for run in self.runs:
            place = run.end(said, place)
            if place < 0:
                return False
        return True


@frozen
class Run:
    """Hold parts that stand one right after another; `begins` says at which clauses, `words` with which words, where that is known."""

    parts: tuple[Part, ...]
    begins: type | None
    words: Mapping[str, object] | None

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "Run":
        """Return the run of `parts`, and where it may begin by the first of them."""
        begins = type(parts[0]) if parts and isinstance(parts[0], Start | First) else None
        rest = parts[1:] if begins else parts
        return cls(tuple(rest), begins, rest[0].by_first if rest and isinstance(rest[0], Words) else None)

    def end(self, said: Said, place: int) -> int:
        """Return where it ends that begins at `place` or later, as early as it can; -1 where it does not fit."""
        tokens, words = said.tokens, self.words
        if self.begins is not None:
            places: Iterable[int] = [at for at in said.begins[self.begins] if words is None or (at < len(tokens) and tokens[at] in words)]
        elif words is None:
            places = range(place, len(tokens) + 1)
        else:
            met = words.keys() & said.places.keys()
            places = said.places[met.pop()] if len(met) == 1 else sorted(at for word in met for at in said.places[word])
        for at in places:
            if at >= place and (end := self.fits(said, at)) >= 0:
                return end
        return -1

    def fits(self, said: Said, place: int, part: int = 0) -> int:
        """Return where it ends if it begins right at `place`, -1 if it does not; it is looked for from its `part` on."""
        if part == len(self.parts):
            return place
        for after in self.parts[part].ends(said, place):
            if (end := self.fits(said, after, part + 1)) >= 0:
                return end
        return -1


def blank(phrase: Phrase, said: Said) -> None:
    """Take the words of `phrase` out of a sentence, wherever it stands: what is left is read as if they were not there."""
    (run,) = phrase.runs
    place = 0
    while place < len(said.tokens):
        end = run.fits(said, place) if run.begins is None or place in said.begins[run.begins] else -1
        if end > place:
            said.tokens[place:end] = [BLANK] * (end - place)
        place = max(end, place + 1)
