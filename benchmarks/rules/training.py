"""Fitting the weights of the classifier of rules: a logistic regression over sentences.

A sentence is learnt as it stands in its turn. Most of what is learnt are single sentences, so many
are learnt once more behind other sentences: behind what somebody says before an order, or behind
other rules. The features that matter most are kept, as many as fit into the files. The threshold is
set so that the model, fitted to the other sources each time, flags few turns without a rule.
"""

import hashlib
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import numpy as np
from attrs import frozen
from scipy.sparse import csr_matrix, diags
from sklearn.linear_model import LogisticRegression

from benchmarks.rules.sentences import Turn, learnt, sentences_of
from polycontext.linearity.classification import model as classifier
from polycontext.linearity.classification.constraints import (
    step_features,
    turn_features,
    wording,
)
from polycontext.linearity.classification.prose import sentences

WEIGHTS = Path(__file__).parents[2] / "linearity" / "classification" / "weights"
MOST = {"rules": 26_200, "preferences": 1_500}
"""Features in each file."""
SCALE, LARGEST = 20, 127
"""What a weight is multiplied with before it is rounded, and the largest weight then."""
STRENGTH = 0.15
"""Inverse of the strength of regularisation, chosen by the recall of sources left out."""
MADE_UP = {True: 1.0, False: 0.6}
"""The share of the single sentences, rules and others, that are learnt behind others too."""
BEHIND_RULES = 0.35
"""The share of those rules that stand behind other rules of their source."""
MADE_UP_IMPORTANCE = 0.7
SHARE = 0.55
"""The share of the features that are kept for English; the other languages share the rest."""
FIRM, LASTING, HEADING = 3.0, 1.5, 4.0
"""What is added for the beginnings of prohibitions and limits, for words that make an order last,
and for the headings of rules. In what is learnt, orders of the moment ("Don't merge it yet") are
more frequent than with users."""
HEARD, STORY = -4.0, -1.75
"""The least that is taken off in minutes and, and in a story."""


def _sequences(*said: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(each.split()) for each in said)


_HEADINGS = (
    *("rules", "rule", "instructions", "guidelines", "requirements", "constraints", "conventions"),
    *("policy", "restrictions", "regeln", "regel", "vorgaben", "règles", "consignes", "reglas"),
    *("normas", "regole", "regras", "规 则", "ー ル"),
)
_FOREIGN = "immer", "nie", "niemals", "toujours", "jamais", "siempre", "nunca", "sempre", "mai"
WORTH = {
    _sequences(
        *("< don't", "< do not", "< please don't", "< please do not", "< V only", "< only V"),
        *("allergic to", "allergisch gegen", "allergique à", "alérgico a", "alérgica a"),
    ): FIRM,
    _sequences(
        *("< always", "always V", ", always", "and always", "< never", "never V", ", never"),
        *("on never", "on always", "on don't", "on do not"),
        *("and never", "but never", "from now on", "from here on", "until further notice"),
        *("at all times", "no matter what", "under no circumstances", "no exceptions"),
        *("without exception", "not allowed to", "never allowed", "off limits", "off-limits"),
        *("is forbidden", "are forbidden", "you must", "must not", "mustn't", "不 要", "必 须"),
        *("must never", "must always", "every reply", "every answer", "every response"),
        *("each reply", "each answer", "all replies", "all answers", "all responses"),
        *("bajo ninguna", "必 ず", "な い で", "禁 止"),
        *(f"< {word}" for word in _FOREIGN),
        *(f"{word} V" for word in _FOREIGN),
        *(f"V {word}" for word in _FOREIGN),
    ): LASTING,
    _sequences(*(f"{word} {mark}" for word in _HEADINGS for mark in ":：")): HEADING,
    _sequences(
        *("don't forget", "don't worry", "don't bother", "don't hesitate", "don't think"),
        *("don't know", "do not worry", "do not hesitate", "don't need", "don't panic"),
        *("don't mention it", "don't do that", "don't ask >", "don't >", "not forget"),
        *("never say", "say never", "never say never", "may now", "can now", "can stop", "yet >"),
        *("thanks in advance", "thanks for", "thank you for", "good to me", "just me"),
    ): -FIRM,
}
"""What is added for sequences of words."""
_PREFERENCES = _sequences("budget is", "prefer", "allergic to", "rather than", "i like", "i hate")
FOLDS = 5
LONGEST_STEP = (1 << 16) - 1
"""The longest step from one hash to the next in a file."""
IMPORTANCE = {
    "rules": 14.0,
    "written": 0.75,
    "noted": 1.0,
    "hard": 5.0,
    "easy": 1.2,
    "qmsum": 0.8,
    "bfcl_memory": 4.0,
    "tau_airline_gpt4o": 0.5,
    "swebench_mini": 0.05,
}
"""The weight of a sentence of each set. The tasks of coding runs state rules themselves."""
LESSER = ("home", "code", "roles", "further")
"""The files of written sentences that weigh less, since they have more rules than people state."""
LESSER_SHARE = 0.3
FLAGGED = {"hard": 0.019, "easy": 0.011, "qmsum": 0.008, "tau_airline_gpt4o": 0.02}
"""The largest share of turns without a rule that may be flagged, of those left out."""


@frozen(eq=False)
class Example:
    """A sentence in its place, as features; the turn it belongs to; whether it states a rule.

    An example is made up if its place is.
    """

    features: Mapping[int, int]
    turn: Turn
    is_rule: bool
    made_up: bool = False

    @property
    def importance(self) -> float:
        """Return how much the example counts."""
        share = MADE_UP_IMPORTANCE if self.made_up else 1.0
        if self.turn.group[3:].startswith(LESSER):
            share *= LESSER_SHARE
        return IMPORTANCE[self.turn.set] * share


class Reader:
    """Reads turns as features; `draw` decides what stands before a sentence that is made up."""

    def __init__(self) -> None:
        self.words = classifier.own_model().words
        self.draw = Random(5)  # noqa: S311 - which places are made up is no secret
        self._known: dict[str, tuple[frozenset[int], frozenset[int]]] = {}

    def examples(self, turns: Sequence[Turn]) -> Iterator[Example]:
        """Yield the sentences of turns in their places, and some of them in others."""
        others, rules = defaultdict(list), defaultdict(list)
        for turn in turns:
            if turn.set == "written" and not turn.is_rule:
                others[turn.language].append(turn.text)
            if turn.set in ("written", "rules") and turn.is_rule and not turn.stated:
                rules[turn.group].append(turn.text)
        for turn in turns:
            said = [*_judged(turn)]
            yield from self._placed(turn, said)
            if self._is_made_up(turn) and others[turn.language]:
                before = self._before(turn, others[turn.language], rules[turn.group])
                placed = [*self._placed(turn, [*before, *said])]
                for example in placed[len(before) :]:
                    yield Example(example.features, turn, example.is_rule, made_up=True)

    def rules(self, turns: Sequence[Turn]) -> Iterator[Example]:
        """Yield the rules of turns as they are by themselves."""
        for turn in turns:
            for sentence, is_rule in _judged(turn):
                if is_rule:
                    yield Example(Counter(self._features(sentence)[0]), turn, is_rule=True)

    def _is_made_up(self, turn: Turn) -> bool:
        if turn.stated or not (turn.is_rule or turn.set == "written"):
            return False
        return self.draw.random() < MADE_UP[turn.is_rule]

    def _before(
        self, turn: Turn, others: Sequence[str], rules: Sequence[str]
    ) -> list[tuple[str, bool]]:
        said = [*sentences(self.draw.choice(others))][:6]
        if turn.is_rule and rules and self.draw.random() < BEHIND_RULES:
            said = said[: self.draw.choice((0, 1))]
            for _ in range(self.draw.choice((1, 2, 3))):
                said += [*sentences(self.draw.choice(rules))][:1]
        return [(each, False) for each in said]

    def _placed(self, turn: Turn, said: Sequence[tuple[str, bool]]) -> Iterator[Example]:
        about = turn_features(" ".join(sentence for sentence, _ in said), len(said))
        first = Counter([classifier.key_of(classifier.FIRST if said[1:] else classifier.ALONE)])
        place = first
        for sentence, is_rule in said:
            own, before = self._features(sentence)
            its = map(classifier.key_of, [*about, *step_features(sentence)])
            yield Example(Counter([*own, *its]) + place, turn, is_rule)
            first = Counter(before) if place is first else first
            place = first + Counter(before)

    def _features(self, sentence: str) -> tuple[frozenset[int], frozenset[int]]:
        if sentence not in self._known:
            said = wording(sentence)
            own, before = self.words.features(said), self.words.features_before(said)
            self._known[sentence] = frozenset(own), frozenset(before)
        return self._known[sentence]


def _judged(turn: Turn) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a turn, and whether each states a rule."""
    if turn.stated:
        stated = set(sentences(turn.stated))
        yield from ((each, each in stated) for each in sentences(turn.text))
    else:
        yield from ((each, turn.is_rule) for each in sentences_of(turn))


def train(tell: Callable[[str], None]) -> None:
    """Write the weights into their files."""
    reader, turns = Reader(), [*learnt()]
    known = [*reader.examples(turns)]
    tell(f"{len(known)} sentences in their places")
    weights = _rules(known)
    english, foreign = _thresholds(known, tell)
    for name, change in (("@", -english), ("@foreign", english - min(english, foreign))):
        key = classifier.key_of(name)
        weights[key] = weights.get(key, 0.0) + change
    write_weights("rules", weights, tell)
    rules = [*reader.rules(turns)]
    prefers = [each.turn.kind == "prefer" for each in rules]
    weights = _kept(rules, _fitted(rules, prefers), MOST["preferences"])
    _add(weights, _PREFERENCES, FIRM)
    write_weights("preferences", weights, tell)


def _rules(known: Sequence[Example]) -> dict[int, float]:
    weights = _kept(known, _fitted(known, [each.is_rule for each in known]), MOST["rules"])
    for name, most in ((classifier.HEARD, HEARD), (classifier.STORY, STORY)):
        key = classifier.key_of(name)
        weights[key] = min(weights.get(key, 0.0), most)
    for signs, worth in WORTH.items():
        _add(weights, signs, worth)
    return weights


def _add(weights: dict[int, float], signs: Iterable[Sequence[str]], worth: float) -> None:
    for sequence in signs:
        *_, key = classifier.sequences(sequence, len(sequence))
        weights[key] = weights.get(key, 0.0) + worth


def _thresholds(known: Sequence[Example], tell: Callable[[str], None]) -> tuple[float, float]:
    """Return the scores above which few turns without a rule are, when their source is left out.

    One is for English, one for the other languages.
    """
    scores: dict[Turn, float] = defaultdict(lambda: -99.0)
    folds = [hashlib.sha256(each.turn.group.encode()).digest()[1] % FOLDS for each in known]
    for fold in range(FOLDS):
        rest = [each for each, its in zip(known, folds, strict=True) if its != fold]
        weights = _rules(rest)
        for each, its in zip(known, folds, strict=True):
            if its == fold and each.is_rule is each.turn.is_rule and not each.made_up:
                score = sum(weights.get(key, 0.0) * n for key, n in each.features.items())
                scores[each.turn] = max(scores[each.turn], score)
    thresholds = []
    for is_english in (True, False):
        told = {turn: score for turn, score in scores.items() if _is_english(turn) is is_english}
        ranked = {
            name: sorted((told[turn] for turn in told if turn.set == name), reverse=True)
            for name in FLAGGED
        }
        least = {name: its[int(FLAGGED[name] * len(its))] for name, its in ranked.items() if its}
        threshold = max(least.values())
        tell(f"{'English' if is_english else 'others'}: {threshold:.2f} of {least}")
        for line in _shares(told, threshold):
            tell(line)
        thresholds.append(threshold)
    english, foreign = thresholds
    return english, foreign


def _is_english(turn: Turn) -> bool:
    return turn.language == "en"


def _shares(scores: Mapping[Turn, float], threshold: float) -> Iterator[str]:
    found = defaultdict(list)
    for turn, score in scores.items():
        found[turn.set, turn.is_rule].append(score > threshold)
    for (name, is_rule), flags in sorted(found.items()):
        yield f"  {name}, {'rules' if is_rule else 'others'}: {mean(flags):.4f} of {len(flags)}"


def _fitted(known: Sequence[Example], is_so: Sequence[bool]) -> dict[int, float]:
    return fitted([each.features for each in known], [each.importance for each in known], is_so)


def fitted(
    rows: Sequence[Mapping[int, int]],
    importance: Sequence[float],
    is_so: Sequence[bool],
    *,
    strength: float = STRENGTH,
    skew: float = 1.0,
) -> dict[int, float]:
    """Return the weight of each feature that more than one row has; a row counts features.

    Features that are much more frequent in one class are scaled up, so that regularisation affects
    them less (Wang and Manning, "Baselines and Bigrams", 2012); the more, the larger `skew` is.
    """
    keys, matrix = _matrix(rows)
    kept = np.flatnonzero(np.asarray((matrix > 0).sum(0)).ravel() > 1)
    matrix = matrix[:, kept]
    weight, so = np.array(importance), np.array(is_so)
    stated, other = (
        np.log((1 + matrix.T @ share) / share.sum()) for share in (so * weight, ~so * weight)
    )
    scale = np.abs(stated - other) ** skew
    # The bias is a feature like the others; liblinear draws nothing when it solves the primal.
    fit = LogisticRegression(
        C=strength, solver="liblinear", fit_intercept=False, max_iter=300, tol=1e-3
    )
    fit.fit(matrix @ diags(scale), so, sample_weight=weight)
    return dict(zip(keys[kept].tolist(), (fit.coef_[0] * scale).tolist(), strict=True))


def _matrix(counts: Sequence[Mapping[int, int]]) -> tuple[Any, Any]:
    """Return the keys of all features, and how often each row has each of them."""
    rows = [np.fromiter(each, dtype=np.int64) for each in counts]
    values = [np.fromiter(each.values(), dtype=np.float64) for each in counts]
    keys, places = np.unique(np.concatenate(rows), return_inverse=True)
    ends = np.cumsum([0, *map(len, rows)])
    matrix: Any = csr_matrix((np.concatenate(values), places, ends), (len(rows), len(keys)))
    return keys, matrix


def _kept(known: Sequence[Example], weights: Mapping[int, float], most: int) -> dict[int, float]:
    """Return the weights that matter most, a share of them for English.

    They are not fitted again: fewer features would be given larger weights, and generalise worse.
    """
    seen = {True: Counter[int](), False: Counter[int]()}
    for each in known:
        seen[_is_english(each.turn)].update(each.features.keys())
    kept: dict[int, float] = {}
    for is_english, share in ((True, SHARE), (False, 1 - SHARE)):
        its = seen[is_english]
        own = (key for key in weights if (seen[True][key] >= seen[False][key]) is is_english)
        ranked = sorted(own, key=lambda key: -abs(weights[key]) * its[key] ** 0.25)
        kept |= {key: weights[key] for key in ranked[: int(share * most)]}
    return kept


def write_weights(
    name: str, weights: Mapping[int, float], tell: Callable[[str], None], *, scale: int = SCALE
) -> None:
    """Write the file of weights `name`, each multiplied with `scale` and rounded."""
    scaled = {key: round(weight * scale) for key, weight in weights.items()}
    data = written_weights(
        {key: max(-LARGEST, min(LARGEST, weight)) for key, weight in scaled.items() if weight}
    )
    (WEIGHTS / f"{name}.bin").write_bytes(data)
    tell(f"{name}: {len(data):,} bytes")


def written_weights(weights: Mapping[int, int]) -> bytes:
    """Return the bytes of a file of weights."""
    keys = sorted(weights)
    # A step has 16 bits, so a weight of zero stands wherever a longer one would be.
    for before, key in pairwise([0, *keys]):
        keys += range(before + LONGEST_STEP, key, LONGEST_STEP)
    keys.sort()
    steps = [key - before for before, key in pairwise([0, *keys])]
    signed = (weights.get(key, 0) % 256 for key in keys)
    data = bytes([*(step % 256 for step in steps), *(step // 256 for step in steps), *signed])
    return zlib.compress(data, 9)
