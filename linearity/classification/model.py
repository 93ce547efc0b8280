"""A linear classifier that scores whether a sentence states a lasting instruction.

The score is a sum of weights of the features of the sentence: sequences of one to three words (of
one to four characters in scripts without spaces), its ending and length, words in capitals, where
its verbs stand, and the kinds of phrases that the tables find in it. The weights are data in
``weights/rules.txt``, which ``just bench rules train`` writes. Each line is a weight, followed by
the features that have this weight, separated by tabs.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property

from attrs import field, frozen

from .phrases import Table, is_said, own_table, own_text, words_of

LONGEST_SEQUENCE, LONGEST_UNSPACED = 3, 4
BIAS, STATED = "@bias", "@stated"
"""A feature of every sentence, and of those that state an instruction."""

_CAPITALS = re.compile(r"\b(?:[A-Z]{4,}|NOT|DO)\b")
_BEFORE_VERB = frozenset(
    re.findall(
        r"\S+",
        "< , ; : and or then but please not don't never always only und nie immer bitte et jamais "
        "toujours ne n' y o no siempre nunca",
    )
)
"""The words after which a verb is taken for an order; ``<`` is the beginning of the sentence."""
_LENGTHS = (3, 6, 12, 24, 40)


@frozen(eq=False)
class Model:
    """The weights of features, as integers; a sum above zero states an instruction.

    `table` finds the kinds of phrases that are features too. The table `added` decides alone.
    """

    weights: Mapping[str, int]
    table: Table
    added: Table = field(factory=lambda: Table({}))

    def kinds_of(self, sentence: str) -> Collection[str]:
        """Return the kinds of phrases in a sentence that states an instruction.

        They are empty if it states none, and contain `STATED` if it does. The sentence is without
        quotations and list markers.
        """
        words = words_of(sentence)
        own = self.added.kinds_of(words)
        if "told" not in own and (own & {"rule", "note"} or set(own) == {"order"}):
            return own
        weights = self.weights
        said = word_features(sentence, words, self.is_verb)
        score = sum(map(weights.__getitem__, weights.keys() & said))
        # Looking for phrases is slow, so it stops as soon as the others cannot tip the scale.
        mark, near = phrase_mark(sentence), self.table.near(words)
        worth = {kind: weights.get(f"{mark}{kind}", 0) for kind in near}
        most = score + sum(weight for weight in worth.values() if weight > 0)
        kinds = {STATED}
        for kind in sorted(worth, key=worth.__getitem__, reverse=True):
            if most <= 0:
                break
            if is_said(near[kind], words):
                kinds.add(kind)
                most += min(0, worth[kind])
            else:
                most -= max(0, worth[kind])
        return kinds if most > 0 else ()

    def is_verb(self, word: str) -> bool:
        """Return whether a word is a verb that people give orders with."""
        verbs, stems = self._verbs
        return word in verbs or word.startswith(stems)

    @cached_property
    def _verbs(self) -> tuple[frozenset[str], tuple[str, ...]]:
        stems = [verb[:-1] for verb in self.table.verbs if verb.endswith("*")]
        return frozenset(self.table.verbs), tuple(stems)


def phrase_mark(sentence: str) -> str:
    """Return what a kind of phrase begins with as a feature of this sentence."""
    return "@?" if _ending(sentence) == "?" else "@"


def word_features(sentence: str, words: Sequence[str], verbs: Callable[[str], bool]) -> set[str]:
    """Return the features that the words of a sentence give.

    Args:
        sentence: the sentence, without quotations and list markers.
        words: the words of the sentence.
        verbs: returns whether a word is a verb that people give orders with.
    """
    known = ["#" if word[0].isdigit() else word if word.strip("_") else "_" for word in words]
    said = ["<", *known, _ending(sentence)]
    length = f"@len{sum(len(known) >= length for length in _LENGTHS)}"
    found = {BIAS, length, *_sequences(said)}
    if _CAPITALS.search(sentence) and not sentence.isupper():
        found.add("@caps")
    if "," in known[1:]:
        clause = known[known.index(",", 1) + 1 :]
        found.add(f"{known[0]} … ,")
        for word in clause[:1]:
            found.update((f"{known[0]} … {word}", f", … {word}"))
    orders = False
    for before, verb, after in zip(said, said[1:], said[2:], strict=False):
        if before in _BEFORE_VERB and verbs(verb):
            orders = True
            found.update(("V", f"{before} V", f"V {after}", f"{before} V {after}"))
    if known:
        found.add(f"{known[0]} ~{'V' if orders else ''}")
    return found


def _sequences(said: Sequence[str]) -> Iterator[str]:
    """Yield one to three words in sequence, or up to four characters."""
    for length in range(LONGEST_SEQUENCE):
        yield from map(" ".join, zip(*(said[at:] for at in range(length + 1)), strict=False))
    for place, word in enumerate(said[:-LONGEST_SEQUENCE]):
        if word > "\u0e00" and len(word) == 1:
            yield " ".join(said[place : place + LONGEST_UNSPACED])


def _ending(sentence: str) -> str:
    last = sentence.rstrip("\"'”’»)]*_ ")[-1:]
    return {"？": "?", "：": ":", "！": "!"}.get(last, last if last in ("?", ":", "!") else ">")


def read_weights(text: str) -> dict[str, int]:
    r"""Return the weights in `text`.

    >>> read_weights("3\tnever\t< never\n-2\tmind\n")
    {'never': 3, '< never': 3, 'mind': -2}
    """
    weights: dict[str, int] = {}
    for line in text.splitlines():
        weight, *features = line.split("\t")
        weights.update(dict.fromkeys(features, int(weight)))
    return weights


def own_model() -> Model:
    """Return the model of this library, read from its files."""
    return Model(read_weights(own_text("weights", "rules.txt")), own_table())
