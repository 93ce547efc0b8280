"""A linear classifier that scores whether a sentence states a lasting instruction.

The score is a sum of weights of features: sequences of up to three words, and of up to five shapes.
A frequent word is its own shape, a verb where an order begins is ``V``, and another word is its
ending ("~s"), so that a sentence of unknown words still has features. The kinds of phrases that the
tables find are features too.

The weights are data that ``just bench rules train`` writes: a feature is known by a hash of 24
bits, and the file holds the distances between the sorted hashes and then the weights.
"""

import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from zlib import crc32

from attrs import field, frozen

from .phrases import Table, own_data, own_lists, own_table, words_of

BITS, BYTES = 24, 3
"""The bits of a feature's hash, and the bytes that it takes in a file."""
LONGEST_WORDS, LONGEST_SHAPES = 3, 5
STATED = "stated"
"""The kind of every sentence that states a rule."""

_MASK = (1 << BITS) - 1
_CAPITALS = re.compile(r"\b(?:[A-Z]{4,}|NOT|DO)\b")
_ENDINGS = ("ing", "ed", "ly", "ion", "er", "able", "s", "en", "es")
_CLOSED = ("?", ":", "!", ">")


@lru_cache(8_192)
def key_of(name: str) -> int:
    """Return the hash by which the feature `name` is known."""
    return crc32(name.encode()) & _MASK


def read_weights(data: bytes) -> dict[int, int]:
    """Return the weights of features in `data`, by their hashes.

    >>> read_weights(bytes([5, 0, 2, 0, 1, 255]))
    {5: 1, 7: -1}
    """
    count = len(data) // BYTES
    read = struct.unpack(f"<{count}H{count}b", data)
    return dict(zip(accumulate(read[:count]), read[count:], strict=True))


@frozen
class Words:
    """The words that features are made from: `common` ones, and `verbs` that orders begin with.

    An order begins behind a word of `before` or a mark, or with the sentence. A verb with ``*`` at
    its end stands for all words that begin like it.
    """

    common: frozenset[str]
    verbs: frozenset[str]
    before: frozenset[str]

    @cached_property
    def _stems(self) -> tuple[str, ...]:
        return tuple(verb[:-1] for verb in self.verbs if verb.endswith("*"))

    def features(self, sentence: str) -> set[int]:
        """Return the features of a sentence without quotations and list markers."""
        words = _known(sentence)
        ends = _ending(sentence)
        shapes, last = ["<"], "<"
        for word in words:
            is_verb = (last in self.before or not last[0].isalnum()) and self.is_verb(word)
            shapes.append("V" if is_verb else self.shape(word))
            last = word
        found = {key_of("@"), key_of(f"@length {len(words).bit_length()}")}
        if _CAPITALS.search(sentence) and not sentence.isupper():
            found.add(key_of("@capitals"))
        found.update(sequences(["<", *words, ends], LONGEST_WORDS))
        found.update(sequences([*shapes, ends], LONGEST_SHAPES))
        return found

    def is_verb(self, word: str) -> bool:
        """Return whether a word is a verb that people give orders with."""
        return word in self.verbs or word.startswith(self._stems)

    def shape(self, word: str) -> str:
        """Return a word as one of a kind: itself, or its ending."""
        if word in self.common or not word[0].isalnum() or (len(word) == 1 and word > "\u0e00"):
            return word
        return _ending_of(word)


@frozen(eq=False)
class Model:
    """The weights of features, as integers; a sum above zero states a rule.

    `preferences` tells in the same way whether a rule is a preference. The kinds of phrases that
    the `table` finds are features too. The table `added` decides alone.
    """

    words: Words
    rules: Mapping[int, int]
    preferences: Mapping[int, int] = field(factory=dict)
    table: Table = field(factory=lambda: Table({}))
    added: Table = field(factory=lambda: Table({}))

    def kinds_of(self, sentence: str) -> Collection[str]:
        """Return the kinds of phrases in a sentence that states a rule.

        They are empty if it states none. They contain `STATED` if it does, and "note" if the rule
        is a preference. The sentence is without quotations and list markers.
        """
        added = self.added.kinds_of(words_of(sentence)) if self.added.phrases else frozenset()
        if "told" not in added and (added & {"rule", "note"} or set(added) == {"order"}):
            return added
        features, words = self.words.features(sentence), words_of(sentence)
        score = _sum(self.rules, features)
        # Looking for phrases is slow, so it is left out where they cannot tip the scale.
        near = phrase_features(sentence, self.table.near(words))
        if score + sum(max(0, self.rules.get(key, 0)) for key in near) <= 0:
            return ()
        kinds = self.table.kinds_of(words)
        phrases = phrase_features(sentence, kinds)
        if score + _sum(self.rules, phrases) <= 0:
            return ()
        features |= phrases
        prefers = _sum(self.preferences, features) > 0
        return {*kinds, STATED, *(("note",) if prefers else ())}


def phrase_features(sentence: str, kinds: Iterable[str]) -> set[int]:
    """Return the features that the kinds of phrases in a sentence give."""
    mark = "@?" if _ending(sentence) == "?" else "@"
    return {key_of(f"{mark}{kind}") for kind in kinds}


def _sum(weights: Mapping[int, int], features: set[int]) -> int:
    return sum(map(weights.__getitem__, weights.keys() & features))


def _known(sentence: str) -> list[str]:
    words = words_of(sentence)
    return ["#" if word[0].isdigit() else word if word.strip("_") else "_" for word in words]


def sequences(said: Sequence[str], longest: int) -> Iterator[int]:
    """Yield the hashes of one word up to `longest` words in sequence."""
    keys = [*map(key_of, said)]
    found = [0] * len(keys)
    for length in range(longest):
        found = [
            (before * 31 + key) * 0x9E3779B1 >> 4 & _MASK
            for before, key in zip(found, keys[length:], strict=False)
        ]
        yield from found


@lru_cache(8_192)
def _ending_of(word: str) -> str:
    return next((f"~{end}" for end in _ENDINGS if word.endswith(end)), "~")


def _ending(sentence: str) -> str:
    last = sentence.rstrip("\"'”’»)]*_ ")[-1:]
    return {"？": "?", "：": ":", "！": "!"}.get(last, last if last in _CLOSED else ">")


def own_model() -> Model:
    """Return the model of this library, read from its files."""
    table, lists = own_table(), own_lists("words")
    words = Words(*map(frozenset, (lists["common"], table.verbs, lists["before"])))
    rules, preferences = (
        read_weights(own_data("weights", f"{name}.bin")) for name in ("rules", "preferences")
    )
    return Model(words, rules, preferences, table)
