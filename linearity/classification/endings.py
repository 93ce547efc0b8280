"""What a later sentence of the user does to a rule that stands: end it, replace it, or nothing.

The score is a sum of weights of features, as in `model`. The words that the sentence shares with
the rule are one kind of word, and so are numbers and the names of languages, so that what is learnt
of "no need to run black any more" holds for other rules. A sentence that only speaks of the rule,
or makes an exception, leaves it as it is.

The weights are data that ``just bench rules train-endings`` writes.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache

from attrs import frozen

from .model import ending, key_of, read_weights, sequences
from .phrases import LANGUAGES, own_data, own_lists, words_of
from .prose import unbulleted, unquoted

STEM = 4
"""The letters by which two words are taken for the same."""
LONGEST_WORDS, LONGEST_KINDS = 2, 3
"""The most words, and kinds of words, in a sequence that is a feature."""
_NEGATIVE = re.compile(
    r"\b(?:no|not|never|don'?t|without|avoid|nie|kein\w*|nicht|ohne|jamais|pas|sans|nunca|sin|mai|non"
    r"|senza|não|sem)\b|不|没|ない|ません",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:never|must not|mustn't|(?:don't|dont|do not)(?! (?:need|have|bother|worry|care|mind))"
    r"|nie|niemals|jamais|nunca|mai)\b|不要|绝不|ないで",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"\b(?:than|over|under|above|below|after|before|until|über|unter|nach|vor|bis|plus de|moins"
    r"|après|avant|más de|menos|después|antes|dopo|prima|depois)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[-/.'_]+")
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


class Effect(Enum):
    """What a sentence does to a rule."""

    KEEPS = "keeps"
    ENDS = "ends"
    REPLACES = "replaces"
    """It ends the rule and stands in its place."""


@cache
def _common() -> frozenset[str]:
    return frozenset(own_lists("subjects")["common"])


@cache
def _groups() -> Mapping[str, str]:
    """Return the subject of each word that belongs to one, such as a language or a unit."""
    lists = own_lists("subjects")
    return {_stem(word): f"@{name}" for name in lists if name != "common" for word in lists[name]}


@cache
def _verbs() -> frozenset[str]:
    return frozenset(verb for tongue in LANGUAGES for verb in own_lists(tongue).get("verb", ()))


def _stem(word: str) -> str:
    return word if word[0].isdigit() or len(word) <= STEM else word[:STEM]


@lru_cache(1_024)
def subjects_of(text: str) -> frozenset[str]:
    """Return the stems of what `text` is about, and the subjects that its words belong to.

    >>> sorted(subjects_of("Always answer in German."))
    ['@tongue', 'answ', 'germ']
    """
    found = set[str]()
    for word in words_of(unbulleted(text)):
        if word not in _common():
            parts = [part for part in _JOINED.split(word) if part] or [word]
            found |= {_stem(part) for part in (word, *parts) if _is_word(part)}
            found |= {_groups()[_stem(part)] for part in parts if _stem(part) in _groups()}
            if word[0].isdigit():
                found.add("@number")
    return frozenset(found)


def _is_word(word: str) -> bool:
    return word[0].isalnum() or _IDEOGRAPH.match(word) is not None


def features(rule: str, sentence: str, *, states: bool) -> set[int]:
    """Return the features of a sentence that follows a rule; `states` if it states one itself."""
    said = unquoted(unbulleted(sentence))
    words, about = words_of(said), subjects_of(rule)
    kinds = [_kind(word, about) for word in words]
    polarity = "-" if _NEGATIVE.search(rule) else "+"
    shared = sum(kind[:2] in ("=", "=@") for kind in kinds)
    own = len(subjects_of(said)) or 1
    last = ending(said)
    names = {
        "@",
        f"@shared {min(shared, 4)}",
        f"@share {4 * shared // own}",
        f"@of rule {4 * len(about & subjects_of(said)) // (len(about) or 1)}",
        f"@length {len(words).bit_length()}",
        f"@states {states} {polarity}",
        f"@numbers {'=#' in kinds} {'#' in kinds} {'@number' in about} {polarity}",
        f"@other of a group {any(kind[0] == '@' for kind in kinds)}",
        f"@order {'=order' in kinds} {shared > 0}",
        f"@quotes {said != unbulleted(sentence)}",
        *(f"{polarity}{kind}" for kind in kinds),
    }
    found = {*map(key_of, names)}
    found.update(sequences(["<", *words, last], LONGEST_WORDS))
    found.update(sequences(["<<", *kinds, last], LONGEST_KINDS))
    return found


def _kind(word: str, about: frozenset[str]) -> str:
    stem = _stem(word)
    if word[0].isdigit():
        return "=#" if word in about else "#"
    if (group := _groups().get(stem)) and (stem in about or group in about):
        return f"={group}" if stem in about else group
    if word in _common() or not _is_word(word):
        return word
    shared = "=order" if word in _verbs() else "="
    return shared if about & {_stem(part) for part in (word, *_JOINED.split(word)) if part} else "~"


@frozen(eq=False)
class Endings:
    """The weights of features: of a sentence that ends a rule, and of one that replaces it."""

    ends: Mapping[int, int]
    replaces: Mapping[int, int]

    def score(self, rule: str, sentence: str, *, states: bool) -> tuple[int, Effect]:
        """Return how surely `sentence` ends `rule`, above zero if it does, and what it does.

        Two prohibitions stand beside each other, unless the later one has a limit.
        """
        both = states and _FORBIDS.search(rule) and _FORBIDS.search(sentence)
        if both and not _LIMITS.search(sentence):
            return 0, Effect.KEEPS
        found = features(rule, sentence, states=states)
        score = _sum(self.ends, found)
        if score <= 0:
            return score, Effect.KEEPS
        return score, Effect.REPLACES if _sum(self.replaces, found) > 0 else Effect.ENDS


def ending_of(
    rules: Sequence[str], sentence: str, *, states: bool = False
) -> tuple[int, Effect] | None:
    """Return the index of the rule that `sentence` ends, and how; None if it ends none.

    A sentence ends at most one rule: the one for which that is most certain, of equals the first.
    `states` says whether the sentence states a rule itself.

    >>> ending_of(["Be brief.", "No emojis."], "emojis are fine again")
    (1, <Effect.ENDS: 'ends'>)
    >>> ending_of(["No emojis."], "Did I forbid emojis?")
    """
    scored = [own_endings().score(rule, sentence, states=states) for rule in rules]
    best = max(range(len(scored)), key=lambda n: scored[n][0], default=None)
    if best is None or scored[best][1] is Effect.KEEPS:
        return None
    return best, scored[best][1]


def _sum(weights: Mapping[int, int], found: set[int]) -> int:
    return sum(filter(None, map(weights.get, found)))


@cache
def own_endings() -> Endings:
    """Return the weights of this library, read from its files on the first call."""
    names = ("endings.bin", "replacements.bin")
    return Endings(*(read_weights(own_data("weights", name)) for name in names))
