"""A linear classifier that scores whether a sentence states a lasting instruction.

The score is a sum of weights of features: sequences of up to three words or shapes, and the first
and last words. A frequent word is its own shape, a verb where an order begins is
``V``, and another word is its ending ("~s"), so that a sentence of unknown words still has
features. What the same turn says first, and what it says just before the sentence, counts as well:
"Names are in lower case." states a rule after "We start a new project today.", and none in a task.

The weights are data that ``just bench rules train`` writes: a feature is known by a hash of 24
bits, and the file holds the distances between the sorted hashes and then the weights, compressed.
"""

import re
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from attrs import field, frozen

from .vocabulary import own_data, own_lists, verbs, words_of

LONGEST, ENDS = 3, 4
"""The most words or shapes in a sequence, and the words at either end that are features there."""
ALONE, FIRST = "@alone", "@first"
"""The features of the only sentence of a turn, and of the first of several."""
HEARD, STORY, STEP = "@heard", "@story", "@step"
"""The features of each sentence in minutes and in a story, and of the items of a numbered list."""

_MASK, _FACTOR = (1 << 24) - 1, 0xE3779B1
"""The mask of a hash, and a factor below 2 ** 30, by which Python multiplies fast."""
_BEFORE = 0x5BD1E9
"""What the hash of a word before a sentence differs by from that of a word in it."""
_KNOWN = 8_192
"""How many words are remembered."""
LEAST = -65
"""The least score of words that shapes can make one of a rule."""
_CAPITALS = re.compile(r"\b(?:[A-Z]{4,}|NOT|DO)\b")
_UNSPACED = re.compile("[\u0e00-\u9fff]")
_ENDINGS = ("ing", "ed", "ly", "ion", "er", "able", "s", "en", "es")
_MARKS = dict(zip("?:!？：！", "?:!" * 2, strict=True))


@lru_cache(_KNOWN)
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


def own_weights(name: str) -> dict[int, int]:
    """Return the weights in a file of this library."""
    return read_weights(own_data("weights", f"{name}.bin"))


def total(weights: Mapping[int, int], features: Iterable[int]) -> int:
    """Return the sum of the weights of `features`."""
    return sum(filter(None, map(weights.get, features)))


class _Word(NamedTuple):
    """The features of a word: itself, at the beginning, at the end, and as a shape.

    `leads` says whether the verb of an order may follow.
    """

    key: int
    opens: int
    closes: int
    shape: int
    is_verb: bool
    leads: bool
    is_foreign: bool


@frozen(eq=False)
class Words:
    """The words that features are made from: `common` ones, and `verbs` that orders begin with.

    An order begins behind a word of `before` or a mark, or with the sentence. A verb with ``*`` at
    its end stands for all words that begin like it. Words of `foreign` are not English.
    """

    common: frozenset[str]
    verbs: frozenset[str]
    before: frozenset[str]
    foreign: frozenset[str] = frozenset()
    _known: dict[str, _Word] = field(factory=dict, init=False)

    @cached_property
    def _stems(self) -> tuple[str, ...]:
        return tuple(verb[:-1] for verb in self.verbs if verb.endswith("*"))

    def features(self, sentence: str, weights: Mapping[int, int] | None = None) -> set[int]:
        """Return the features of a sentence without quotations and list markers.

        With `weights`, shapes are left out where they cannot make up for what the words weigh.
        """
        words, ends = self._read(sentence), key_of(ending(sentence))
        keys, opens, closes, shapes, are_verbs, leads, foreign = zip(*words, strict=True)
        found = {key_of("@"), key_of(f"@length {len(words).bit_length()}")}
        if _CAPITALS.search(sentence) and not sentence.isupper():
            found.add(key_of("@capitals"))
        if _UNSPACED.search(sentence) or sum(foreign) * 5 > len(words):
            found.add(key_of("@foreign"))
        found.update(opens[:ENDS], closes[-ENDS:], _joined([_START, *keys, ends], LONGEST))
        if weights and total(weights, found) < LEAST:
            return found
        ordered = zip(shapes, are_verbs, (True, *leads), strict=False)
        shaped = [_VERB if is_verb and led else shape for shape, is_verb, led in ordered]
        return found.union(_joined([_START, *shaped, ends], LONGEST))

    def features_before(self, sentence: str) -> set[int]:
        """Return the features that a sentence gives to those that follow it."""
        said = [_START, *[word.key for word in self._read(sentence)], key_of(ending(sentence))]
        return {key ^ _BEFORE for key in _joined(said, 2)}

    def _read(self, sentence: str) -> list[_Word]:
        known = self._known
        return [known.get(word) or self._word(word) for word in words_of(sentence) or "_"]

    def _word(self, said: str) -> _Word:
        if len(self._known) >= _KNOWN:
            self._known.clear()
        word = "#" if said[0].isdigit() else said if said.strip("_") else "_"
        self._known[said] = found = _Word(
            key_of(word),
            key_of("^" + word),
            key_of("$" + word),
            key_of(self.shape(word)),
            word in self.verbs or word.startswith(self._stems),
            word in self.before or not word[0].isalnum(),
            word in self.foreign,
        )
        return found

    def shape(self, word: str) -> str:
        """Return a word as one of a kind: itself, or its ending."""
        is_itself = word in self.common or word in self.foreign or not word[0].isalnum()
        if is_itself or (len(word) == 1 and word > "\u0e00"):
            return word
        return next((f"~{end}" for end in _ENDINGS if word.endswith(end)), "~")


@frozen(eq=False)
class Model:
    """The weights of features, as integers; a sum above zero states a rule.

    `preferences` tells in the same way whether a rule is a preference. Sentences come without
    quotations and list markers.
    """

    words: Words
    rules: Mapping[int, int]
    preferences: Mapping[int, int] = field(factory=dict)

    def weigh(self, sentence: str) -> int:
        """Return the score of a sentence."""
        return total(self.rules, self.words.features(sentence, self.rules))

    def weigh_before(self, sentence: str) -> int:
        """Return what a sentence adds to the scores of those that follow it."""
        return total(self.rules, self.words.features_before(sentence))

    def place(self, feature: str) -> int:
        """Return what a place in a turn adds to the score of a sentence."""
        return self.rules.get(key_of(feature), 0)

    def prefers(self, sentence: str) -> bool:
        """Return whether a rule is a preference."""
        return total(self.preferences, self.words.features(sentence)) > 0


def sequences(said: Sequence[str], longest: int) -> list[int]:
    """Return the hashes of one word up to `longest` words in sequence, the shortest first."""
    return _joined([*map(key_of, said)], longest)


def _joined(keys: Sequence[int], longest: int) -> list[int]:
    found, all_found = [0] * len(keys), list[int]()
    for length in range(longest):
        found = [
            (before * 31 + key) * _FACTOR >> 4 & _MASK
            for before, key in zip(found, keys[length:], strict=False)
        ]
        all_found += found
    return all_found


def ending(sentence: str) -> str:
    """Return the mark that a sentence ends with, or ">"."""
    return _MARKS.get(sentence.rstrip("\"'”’»)]*_ ")[-1:], ">")


_START, _VERB = key_of("<"), key_of("V")


@cache
def own_model() -> Model:
    """Return the model of this library, read from its files on the first call."""
    lists = {name: frozenset(words) for name, words in own_lists("words").items()}
    words = Words(lists["common"], verbs(), lists["before"], lists["foreign"])
    return Model(words, own_weights("rules"), own_weights("preferences"))
