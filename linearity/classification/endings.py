"""What a later sentence of the user does to a rule that stands: end it, replace it, or nothing.

The score is a sum of weights of features, as in `model`. The words that the sentence shares with
the rule are one kind of word, and so are numbers, the names of languages, and words that permit,
cease, report or doubt something, so that what is learnt of "no need to run black any more" holds
for other rules and languages. A sentence that only speaks of the rule, or makes an exception,
leaves it as it is. One that may end the rule, but not surely, stands beside it.

The weights are data that ``just bench rules train-endings`` writes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import Enum
from functools import cache, lru_cache
from itertools import pairwise

from attrs import frozen

from .model import ending, key_of, own_weights, sequences, total
from .prose import unbulleted, unquoted
from .vocabulary import own_lists, verbs, words_of

STEM = 4
"""The letters by which two words are taken for the same."""
LONGEST_WORDS, LONGEST_KINDS = 2, 3
"""The most words, and kinds of words, in a sequence that is a feature."""
SURE = {True: 43, False: 64}
"""The score above which a sentence ends a rule; below it, and above zero, both stand. One that
states no rule itself may only speak of the rule, so it takes more."""
_FORBIDS = re.compile(
    r"\b(?:never|must not|mustn't|(?:don't|dont|do not)(?! (?:need|have|bother|worry|care|mind))"
    r"|nie|niemals|jamais|nunca|mai)\b|不要|绝不|ないで",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[-/.'_]+")
_DOUBT = "@doubt"
"""The feature of a question, a report and an exception, which never end a rule surely."""
_LENGTHS = range(6, 0, -1)
"""How many words a phrase of a purpose has at most, and at least."""
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


class Effect(Enum):
    """What a sentence does to a rule."""

    KEEPS = "keeps"
    ENDS = "ends"
    REPLACES = "replaces"
    """It ends the rule and stands in its place."""
    MAY_END = "may end"
    """It may do either, so both stand."""


@cache
def _common() -> frozenset[str]:
    return frozenset(own_lists("subjects")["common"])


@cache
def _groups() -> Mapping[str, str]:
    """Return the subject of each word that belongs to one, such as a language or a unit."""
    lists = own_lists("subjects")
    return {_stem(word): f"@{name}" for name in lists if name != "common" for word in lists[name]}


@cache
def _purposes() -> Mapping[tuple[str, ...], str]:
    """Return what people use words for, such as to permit or to report, by the words."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for name, phrases in own_lists("purposes").items():
        for phrase in phrases:
            found.setdefault(tuple(words_of(phrase)), {})[name] = None
    return {words: "%" + "+".join(names) for words, names in found.items()}


def _has_word_of(purpose: str, text: str) -> bool:
    return any(purpose in _purposes().get((word,), "") for word in words_of(text))


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
            found |= _grouped(parts)
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
    polarity = "-" if _has_word_of("deny", rule) else "+"
    last = ending(said)
    names = {
        "@",
        f"@length {len(words).bit_length()}",
        f"@states {states} {polarity}",
        f"@other of a group {any(kind[0] == '@' for kind in kinds)}",
        f"@order {'=order' in kinds}",
        f"@quotes {said != unbulleted(sentence)}",
        *(f"{polarity}{kind}" for kind in kinds),
    }
    course = [*_course(words, kinds)]
    told = " ".join(course)
    if last == "?" or "once" in told or ("report" in told and "person" in told):
        names.add(_DOUBT)
    for swap in _swaps(words_of(unquoted(unbulleted(rule))), words):
        names |= {f"@swap {swap}", f"@swap {swap} {states} {polarity} {_DOUBT in names}"}
    found = {*map(key_of, names)}
    found.update(sequences(["<", *words, last], LONGEST_WORDS))
    found.update(sequences(["<<", *kinds, last], LONGEST_KINDS))
    found.update(sequences(["<<<", *course, last], LONGEST_KINDS))
    return found


def _course(words: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    """Yield what the words of a sentence are for, without common words that are for nothing."""
    start = 0
    while start < len(words):
        length = next((n for n in _LENGTHS if tuple(words[start : start + n]) in _purposes()), 0)
        its = kinds[start : start + max(1, length)]
        if length:
            yield _purposes()[tuple(words[start : start + length])]
        if any(kind[0] == "=" for kind in its):
            yield "="
        elif not length and not its[0][0].isalnum():
            yield its[0][0]
        start += len(its)


def _swaps(rule: Sequence[str], said: Sequence[str]) -> Iterator[str]:
    """Yield how a sentence goes on behind words of the rule, as with another value."""
    steps = SequenceMatcher(None, rule, said, autojunk=False).get_opcodes()
    for (kind, start, stop, *_), (follows, _, rest, first, last) in pairwise(steps):
        told = sum(word not in _common() for word in rule[start:stop])
        if kind == "equal" and told:
            place = f"{rule[stop - 1] in _common()} {rest == len(rule)} {last == len(said)}"
            old, new = _grouped(rule[stop:rest]), _grouped(said[first:last])
            yield f"{follows} {min(told, 2)} {place} {bool(old & new)}"


def _grouped(words: Iterable[str]) -> set[str]:
    return {_groups()[_stem(word)] for word in words if _stem(word) in _groups()}


def _kind(word: str, about: frozenset[str]) -> str:
    stem = _stem(word)
    if word[0].isdigit():
        return "=#" if word in about else "#"
    if (group := _groups().get(stem)) and (stem in about or group in about):
        return f"={group}" if stem in about else group
    if word in _common() or not _is_word(word):
        return word
    shared = "=order" if word in verbs() else "="
    return shared if about & {_stem(part) for part in (word, *_JOINED.split(word)) if part} else "~"


@frozen(eq=False)
class Endings:
    """The weights of features: of a sentence that ends a rule, and of one that replaces it."""

    ends: Mapping[int, int]
    replaces: Mapping[int, int]

    def score(self, rule: str, sentence: str, *, states: bool) -> tuple[int, Effect]:
        """Return how surely `sentence` ends `rule`, above zero if it may, and what it does.

        Two prohibitions stand beside each other, unless the later one has a limit or extends the
        rule.
        """
        both = states and _FORBIDS.search(rule) and _FORBIDS.search(sentence)
        if both and not (
            _has_word_of("limit", sentence) or subjects_of(rule) <= subjects_of(sentence)
        ):
            return 0, Effect.KEEPS
        found = features(rule, sentence, states=states)
        score = total(self.ends, found)
        if score <= SURE[states] or key_of(_DOUBT) in found:
            return score, Effect.MAY_END if score > 0 else Effect.KEEPS
        return score, Effect.REPLACES if total(self.replaces, found) > 0 else Effect.ENDS


def ending_of(
    rules: Sequence[str], sentence: str, *, states: bool = False
) -> tuple[int, Effect] | None:
    """Return the index of the rule that `sentence` ends or may end, and how; None if it is none.

    It is at most one rule: the one for which that is most certain, of equals the first.
    `states` says whether the sentence states a rule itself.

    >>> ending_of(["Be brief.", "No emojis."], "emojis are fine again")
    (1, <Effect.ENDS: 'ends'>)
    >>> ending_of(["No emojis."], "Did I forbid emojis?")
    """
    scored = [_scored(rule, sentence, states=states) for rule in rules]
    best = max(range(len(scored)), key=lambda n: scored[n][0], default=None)
    if best is None or scored[best][1] is Effect.KEEPS:
        return None
    return best, scored[best][1]


@lru_cache(4_096)
def _scored(rule: str, sentence: str, *, states: bool) -> tuple[int, Effect]:
    return own_endings().score(rule, sentence, states=states)


@cache
def own_endings() -> Endings:
    """Return the weights of this library, read from its files on the first call."""
    return Endings(own_weights("endings"), own_weights("replacements"))
