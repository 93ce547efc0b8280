"""Fitting the weights of the classifier of rules: a logistic regression over sentences.

A sentence is learnt as it stands in its turn. Most of what is learnt are single sentences, so many
are learnt once more behind other sentences: behind what somebody says before an order, or behind
other rules. The features that matter most are kept, as many as fit into the files. The threshold is
set so that the model, fitted to the other sources each time, flags few turns without a rule.
"""

import hashlib
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from polycontext.linearity.classification.phrases import own_table, words_of
from polycontext.linearity.classification.prose import sentences, unbulleted, unquoted

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
PHRASE = 3.7
"""The least weight of a phrase that states a rule."""
FIRM = 3.0
"""What is added for the beginnings of prohibitions and limits, and taken off for what passes. In
what is learnt, orders of the moment ("Don't merge it yet") are more frequent than with users."""
_BEGINNINGS = (
    ("<", "don't"),
    ("<", "do", "not"),
    ("<", "please", "don't"),
    ("<", "please", "do", "not"),
    ("<", "V", "only"),
    ("<", "only", "V"),
)
_PASSING = (
    *(("don't", verb) for verb in ("forget", "worry", "bother", "hesitate", "think", "know")),
    *(("do", "not", verb) for verb in ("worry", "hesitate")),
    ("don't", "need"),
    ("don't", "panic"),
    ("don't", "mention", "it"),
    ("don't", "do", "that"),
    ("don't", "ask", ">"),
    ("don't", ">"),
    ("not", "forget"),
    ("never", "say", "never"),
    ("yet", ">"),
)
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
    "bfcl_memory": 1.0,
    "tau_airline_gpt4o": 0.5,
    "swebench_mini": 0.05,
}
"""The weight of a sentence of each set. The tasks of coding runs state rules themselves."""
LESSER = ("home", "code", "roles", "further")
"""The files of written sentences that weigh less, since they have more rules than people state."""
LESSER_SHARE = 0.3
FLAGGED = {"hard": 0.018, "easy": 0.009, "qmsum": 0.008, "tau_airline_gpt4o": 0.015}
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
        self.words, self.table = classifier.own_words(), own_table()
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
        first = Counter(map(classifier.key_of, classifier.FIRST if said[1:] else classifier.ALONE))
        place = first
        for sentence, is_rule in said:
            own, before = self._features(sentence)
            yield Example(Counter(own) + place, turn, is_rule)
            first = Counter(before) if place is first else first
            place = first + Counter(before)

    def _features(self, sentence: str) -> tuple[frozenset[int], frozenset[int]]:
        if sentence not in self._known:
            said = unquoted(unbulleted(sentence))
            own, before = self.words.features(said)
            own |= classifier.phrase_features(said, self.table.kinds_of(words_of(said)))
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
    write_weights("preferences", _kept(rules, _fitted(rules, prefers), MOST["preferences"]), tell)


def _rules(known: Sequence[Example]) -> dict[int, float]:
    weights = _kept(known, _fitted(known, [each.is_rule for each in known]), MOST["rules"])
    # The phrases of rules are rarer in what is learnt than they are precise.
    phrases = classifier.key_of("@rule")
    weights[phrases] = max(weights.get(phrases, 0.0), PHRASE)
    for signs, worth in ((_BEGINNINGS, FIRM), (_PASSING, -FIRM)):
        for sequence in signs:
            *_, key = classifier.sequences(sequence, len(sequence))
            weights[key] = weights.get(key, 0.0) + worth
    return weights


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
    """Return the weight of each feature that more than one example has.

    Features that are much more frequent in one class are scaled up, so that regularisation affects
    them less (Wang and Manning, "Baselines and Bigrams", 2012).
    """
    keys, matrix = _matrix(known)
    kept = np.flatnonzero(np.asarray((matrix > 0).sum(0)).ravel() > 1)
    matrix = matrix[:, kept]
    importance = np.array([each.importance for each in known])
    so = np.array(is_so)
    stated, other = (
        np.log((1 + matrix.T @ share) / share.sum())
        for share in (so * importance, ~so * importance)
    )
    scale = np.abs(stated - other)
    # The bias is a feature like the others; liblinear draws nothing when it solves the primal.
    fit = LogisticRegression(
        C=STRENGTH, solver="liblinear", fit_intercept=False, max_iter=300, tol=1e-3
    )
    fit.fit(matrix @ diags(scale), so, sample_weight=importance)
    return dict(zip(keys[kept].tolist(), (fit.coef_[0] * scale).tolist(), strict=True))


def _matrix(known: Sequence[Example]) -> tuple[Any, Any]:
    """Return the keys of all features, and how often each example has each of them."""
    rows = [np.fromiter(each.features, dtype=np.int64) for each in known]
    counts = [np.fromiter(each.features.values(), dtype=np.float64) for each in known]
    keys, places = np.unique(np.concatenate(rows), return_inverse=True)
    ends = np.cumsum([0, *map(len, rows)])
    matrix: Any = csr_matrix((np.concatenate(counts), places, ends), (len(rows), len(keys)))
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
