"""A linear classifier that scores whether a sentence states a lasting instruction.

The score is a sum of weights of features: sequences of up to three words, and of up to five shapes,
and the first and last words. A frequent word is its own shape, a verb where an order begins is
``V``, and another word is its ending ("~s"), so that a sentence of unknown words still has
features. What the same turn says first, and what it says just before the sentence, counts as well:
"Names are in lower case." states a rule after "We start a new project today.", and none in a task.

The weights are data that ``just bench rules train`` writes: a feature is known by a hash of 24
bits, and the file holds the distances between the sorted hashes and then the weights, compressed.
"""

import re
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate

from attrs import field, frozen

from .phrases import Table, own_data, own_lists, own_table, words_of

BITS = 24
"""The bits of a feature's hash."""
LONGEST_WORDS, LONGEST_SHAPES, ENDS = 3, 5, 4
"""The most words and shapes in a sequence, and the words at either end that are features there."""
STATED = "stated"
"""The kind of every sentence that states a rule."""
ALONE, FIRST = ("@alone", "@first"), ("@first",)
"""The features of the only sentence of a turn, and of the first of several."""

_MASK, _FACTOR = (1 << BITS) - 1, 0xE3779B1
"""The mask of a hash, and a factor below 2 ** 30, by which Python multiplies fast."""
_BEFORE = 0x5BD1E9
"""What the hash of a word before a sentence differs by from that of a word in it."""
_CAPITALS = re.compile(r"\b(?:[A-Z]{4,}|NOT|DO)\b")
_UNSPACED = re.compile("[\u0e00-\u9fff]")
_ENDINGS = ("ing", "ed", "ly", "ion", "er", "able", "s", "en", "es")
_CLOSED = ("?", ":", "!", ">")


@lru_cache(8_192)
def key_of(name: str) -> int:
    """Return the hash by which the feature `name` is known."""
    return zlib.crc32(name.encode()) & _MASK


def read_weights(data: bytes) -> dict[int, int]:
    """Return the weights of features in `data`, by their hashes.

    >>> read_weights(zlib.compress(bytes([5, 2, 0, 0, 1, 255])))
    {5: 1, 7: -1}
    """
    data = zlib.decompress(data)
    count = len(data) // 3
    steps = (low + 256 * high for low, high in zip(data, data[count:], strict=False))
    weights = struct.unpack(f"{count}b", data[2 * count :])
    return dict(zip(accumulate(steps), weights, strict=False))


@frozen
class Weight:
    """What a sentence adds to its own score, and to the scores of sentences that follow it."""

    own: int
    before: int


@frozen
class Words:
    """The words that features are made from: `common` ones, and `verbs` that orders begin with.

    An order begins behind a word of `before` or a mark, or with the sentence. A verb with ``*`` at
    its end stands for all words that begin like it. Words of `foreign` are not English.
    """

    common: frozenset[str]
    verbs: frozenset[str]
    before: frozenset[str]
    foreign: frozenset[str] = frozenset()

    @cached_property
    def _stems(self) -> tuple[str, ...]:
        return tuple(verb[:-1] for verb in self.verbs if verb.endswith("*"))

    def features(self, sentence: str) -> tuple[set[int], set[int]]:
        """Return the features of a sentence, and those of what stands before other sentences.

        The sentence is without quotations and list markers.
        """
        words = [*map(_known, words_of(sentence))]
        ends = ending(sentence)
        own = {key_of("@"), key_of(f"@length {len(words).bit_length()}")}
        if _CAPITALS.search(sentence) and not sentence.isupper():
            own.add(key_of("@capitals"))
        if self._is_foreign(sentence, words):
            own.add(key_of("@foreign"))
        own.update(key_of("^" + word) for word in words[:ENDS])
        own.update(key_of("$" + word) for word in words[-ENDS:])
        said = sequences(["<", *words, ends], LONGEST_WORDS)
        own.update(said)
        own.update(sequences(["<", *self._shapes(words), ends], LONGEST_SHAPES))
        # Single words and pairs come first in `said`.
        return own, {key ^ _BEFORE for key in said[: 2 * len(words) + 3]}

    def _is_foreign(self, sentence: str, words: Sequence[str]) -> bool:
        return bool(_UNSPACED.search(sentence)) or (
            sum(word in self.foreign for word in words) * 5 > len(words)
        )

    def _shapes(self, words: Sequence[str]) -> Iterator[str]:
        last = "<"
        for word in words:
            is_verb = (last in self.before or not last[0].isalnum()) and self.is_verb(word)
            yield "V" if is_verb else self.shape(word)
            last = word

    def is_verb(self, word: str) -> bool:
        """Return whether a word is a verb that people give orders with."""
        return word in self.verbs or word.startswith(self._stems)

    def shape(self, word: str) -> str:
        """Return a word as one of a kind: itself, or its ending."""
        is_itself = word in self.common or word in self.foreign or not word[0].isalnum()
        if is_itself or (len(word) == 1 and word > "\u0e00"):
            return word
        return _shape_of(word)


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

    def weigh(self, sentence: str) -> Weight:
        """Return what a sentence without quotations and list markers adds to scores."""
        return _weigh(self, sentence)

    def place(self, features: Sequence[str]) -> int:
        """Return what a place in a turn, `ALONE` or `FIRST`, adds to the score of a sentence."""
        return sum(self.rules.get(key_of(name), 0) for name in features)

    def kinds_of(self, sentence: str, place: int = 0) -> Collection[str]:
        """Return the kinds of phrases in a sentence that states a rule.

        They are empty if it states none. They contain `STATED` if it does, and "note" if the rule
        is a preference. The sentence is without quotations and list markers; its `place` is added
        to its score.
        """
        words = words_of(sentence)
        added = self.added.kinds_of(words) if self.added.phrases else frozenset()
        if "told" not in added and (added & {"rule", "note"} or set(added) == {"order"}):
            return added
        score = place + self.weigh(sentence).own
        # Looking for phrases is slow, so it is left out where they cannot tip the scale.
        near = phrase_features(sentence, self.table.near(words))
        if score + sum(max(0, self.rules.get(key, 0)) for key in near) <= 0:
            return ()
        kinds = self.table.kinds_of(words)
        phrases = phrase_features(sentence, kinds)
        if score + _sum(self.rules, phrases) <= 0:
            return ()
        own, _ = self.words.features(sentence)
        prefers = _sum(self.preferences, own | phrases) > 0
        return {*kinds, STATED, *(("note",) if prefers else ())}


def phrase_features(sentence: str, kinds: Iterable[str]) -> set[int]:
    """Return the features that the kinds of phrases in a sentence give."""
    mark = "@?" if ending(sentence) == "?" else "@"
    return {key_of(f"{mark}{kind}") for kind in kinds}


# A sentence is weighed for itself, and again for those that follow it.
@lru_cache(1_024)
def _weigh(model: Model, sentence: str) -> Weight:
    return Weight(*(_sum(model.rules, features) for features in model.words.features(sentence)))


def _sum(weights: Mapping[int, int], features: set[int]) -> int:
    return sum(filter(None, map(weights.get, features)))


@lru_cache(8_192)
def _known(word: str) -> str:
    return "#" if word[0].isdigit() else word if word.strip("_") else "_"


def sequences(said: Sequence[str], longest: int) -> list[int]:
    """Return the hashes of one word up to `longest` words in sequence, the shortest first."""
    keys = [*map(key_of, said)]
    found, all_found = [0] * len(keys), list[int]()
    for length in range(longest):
        found = [
            (before * 31 + key) * _FACTOR >> 4 & _MASK
            for before, key in zip(found, keys[length:], strict=False)
        ]
        all_found += found
    return all_found


@lru_cache(8_192)
def _shape_of(word: str) -> str:
    return next((f"~{end}" for end in _ENDINGS if word.endswith(end)), "~")


def ending(sentence: str) -> str:
    """Return the mark that a sentence ends with, or ">"."""
    last = sentence.rstrip("\"'”’»)]*_ ")[-1:]
    return {"？": "?", "：": ":", "！": "!"}.get(last, last if last in _CLOSED else ">")


def own_words() -> Words:
    """Return the words of this library, read from its files."""
    lists = own_lists("words")
    named = (lists["common"], own_table().verbs, lists["before"], lists["foreign"])
    return Words(*map(frozenset, named))


def own_model() -> Model:
    """Return the model of this library, read from its files."""
    names = ("rules.bin", "preferences.bin")
    rules, preferences = (read_weights(own_data("weights", name)) for name in names)
    return Model(own_words(), rules, preferences, own_table())
