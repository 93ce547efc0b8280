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

from .phrases import Table, own_table, own_text, words_of

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
        said = {*word_features(sentence, words, self.is_verb)}
        score = sum([weights[feature] for feature in said if feature in weights])
        # Looking for phrases is slow, so it is done only if they could tip the scale.
        mark = phrase_mark(sentence)
        most = {kind: weights.get(f"{mark}{kind}", 0) for kind, _ in self.table.near(words)}
        if score + sum(max(0, weight) for weight in most.values()) <= 0:
            return ()
        kinds = self.table.kinds_of(words)
        states = score + sum(most[kind] for kind in kinds) > 0
        return {STATED, *kinds} if states else ()

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


def word_features(
    sentence: str, words: Sequence[str], verbs: Callable[[str], bool]
) -> Iterator[str]:
    """Yield the features that the words of a sentence give; some may occur more than once.

    Args:
        sentence: the sentence, without quotations and list markers.
        words: the words of the sentence.
        verbs: returns whether a word is a verb that people give orders with.
    """
    known = ["#" if word[0].isdigit() else "_" if not word.strip("_") else word for word in words]
    said = ["<", *known, _ending(sentence)]
    yield BIAS
    for place, word in enumerate(said):
        is_unspaced = word > "\u0e00" and len(word) == 1
        sequence = word
        yield sequence
        for follower in said[
            place + 1 : place + (LONGEST_UNSPACED if is_unspaced else LONGEST_SEQUENCE)
        ]:
            sequence += f" {follower}"
            yield sequence
    yield f"@len{sum(len(known) >= length for length in _LENGTHS)}"
    if _CAPITALS.search(sentence) and not sentence.isupper():
        yield "@caps"
    if "," in known[1:]:
        clause = known[known.index(",", 1) + 1 :]
        yield f"{known[0]} … ,"
        for word in clause[:1]:
            yield f"{known[0]} … {word}"
            yield f", … {word}"
    orders = False
    for before, verb, after in zip(said, said[1:], said[2:], strict=False):
        if before in _BEFORE_VERB and verbs(verb):
            orders = True
            yield from ("V", f"{before} V", f"V {after}", f"{before} V {after}")
    if known:
        yield f"{known[0]} ~{'V' if orders else ''}"


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
