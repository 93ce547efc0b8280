"""Fitting the weights of the classifier of rules: a logistic regression over sentences.

The features that matter most are kept, as many as fit into the file, and fitted again. The bias is
shifted so that the model, fitted to the other sources each time, flags few turns without a rule.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from attrs import frozen
from scipy.sparse import csr_matrix, diags
from sklearn.linear_model import LogisticRegression

from benchmarks.rules.sentences import Turn, learnt, sentences_of
from polycontext.linearity.classification import model as classifier
from polycontext.linearity.classification.phrases import words_of
from polycontext.linearity.classification.prose import unbulleted, unquoted

WEIGHTS = Path(classifier.__file__).with_name("weights") / "rules.txt"
LARGEST = 60_000
"""Bytes of the file."""
SCALE, MOST = 24, 127
"""What a weight is multiplied with before it is rounded, and the largest weight then."""
STRENGTH = 0.1
"""Inverse of the strength of regularisation, chosen by the recall of sources left out."""
FOLDS = 5
IMPORTANCE = {
    "rules": 4.0,
    "written": 0.8,
    "noted": 1.0,
    "hard": 1.0,
    "easy": 0.6,
    "qmsum": 0.2,
    "bfcl_memory": 1.0,
    "tau_airline_gpt4o": 0.5,
    "swebench_mini": 0.05,
}
"""The weight of a sentence of each set. The tasks of coding runs state rules themselves."""
FLAGGED = {"hard": 0.018, "easy": 0.009, "qmsum": 0.008, "tau_airline_gpt4o": 0.008}
"""The largest share of English turns without a rule that may be flagged, of those left out."""


@frozen
class Example:
    """A sentence as features, with the turn it belongs to."""

    features: frozenset[str]
    turn: Turn


def examples() -> list[Example]:
    """Return what is learnt from, as features."""
    model = classifier.own_model()
    return [
        Example(frozenset(_features(model, unquoted(unbulleted(sentence)))), turn)
        for turn in learnt()
        for sentence in sentences_of(turn)
    ]


def _features(model: classifier.Model, sentence: str) -> Iterator[str]:
    words = words_of(sentence)
    yield from classifier.word_features(sentence, words, model.is_verb)
    mark = classifier.phrase_mark(sentence)
    yield from (f"{mark}{kind}" for kind in model.table.kinds_of(words))


def train(tell: Callable[[str], None]) -> str:
    """Return the weights as the text of their file."""
    known = examples()
    tell(f"{len(known)} sentences, {sum(each.turn.is_rule for each in known)} of them rules")
    chosen, weights = _fitted(known)
    # New text is nearer to what was learnt from than a source left out, and further than a turn.
    by_source = [each.turn.group for each in known]
    by_turn = [each.turn.text for each in known]
    threshold = mean(_threshold(known, groups, tell) for groups in (by_source, by_turn))
    weights[chosen.index(classifier.BIAS)] -= threshold
    return _as_text(dict(zip(chosen, weights, strict=True)))


def _threshold(
    known: Sequence[Example], groups: Sequence[str], tell: Callable[[str], None]
) -> float:
    """Return the score above which few turns without a rule are, when their group is left out."""
    scores: dict[Turn, float] = defaultdict(lambda: -99.0)
    folds = [hashlib.sha256(group.encode()).digest()[1] % FOLDS for group in groups]
    for fold in range(FOLDS):
        apart = [each for each, its in zip(known, folds, strict=True) if its == fold]
        rest = [each for each, its in zip(known, folds, strict=True) if its != fold]
        weights = dict(zip(*_fitted(rest), strict=True))
        for each in apart:
            score = sum(weights.get(feature, 0.0) for feature in each.features)
            scores[each.turn] = max(scores[each.turn], score)
    ranked = {
        name: sorted(
            (scores[turn] for turn in scores if (turn.set, turn.language) == (name, "en")),
            reverse=True,
        )
        for name in FLAGGED
    }
    threshold = max(scored[int(FLAGGED[name] * len(scored))] for name, scored in ranked.items())
    for name in IMPORTANCE:
        for language in ("en", "other"):
            for is_rule in (True, False):
                found = [
                    score > threshold
                    for turn, score in scores.items()
                    if turn.set == name
                    and turn.is_rule is is_rule
                    and (turn.language == "en") is (language == "en")
                ]
                if found:
                    share = sum(found) / len(found)
                    tell(f"{name} {language} {is_rule} {share:.4f} of {len(found)}")
    tell(f"threshold {threshold:.2f}")
    return threshold


def _fitted(known: Sequence[Example]) -> tuple[list[str], list[float]]:
    seen = Counter(feature for each in known for feature in each.features)
    common = sorted(feature for feature, count in seen.items() if count > 1)
    weights = _regression(known, common)
    by_weight = sorted(zip(map(abs, weights), common, strict=True), reverse=True)
    kept, size = [classifier.BIAS], 0
    for _, feature in by_weight:
        size += len(feature.encode()) + 1
        if size > LARGEST - 1_000:
            break
        if feature != classifier.BIAS:
            kept.append(feature)
    return kept, _regression(known, kept)


def _regression(known: Sequence[Example], features: Collection[str]) -> list[float]:
    """Return the weight of each feature.

    Features that are much more frequent in one class are scaled up, so that regularisation affects
    them less (Wang and Manning, "Baselines and Bigrams", 2012).
    """
    places = {feature: place for place, feature in enumerate(features)}
    rows = [sorted(places[each] for each in one.features if each in places) for one in known]
    ends = np.cumsum([0, *map(len, rows)])
    shape = (len(rows), len(places))
    matrix: Any = csr_matrix((np.ones(ends[-1]), np.concatenate(rows), ends), shape=shape)
    is_rule = np.array([each.turn.is_rule for each in known], dtype=float)
    importance = np.array([IMPORTANCE[each.turn.set] for each in known])
    stated, other = (
        np.log((1 + matrix.T @ share) / share.sum())
        for share in (is_rule * importance, (1 - is_rule) * importance)
    )
    scale = np.abs(stated - other)
    # The bias is a feature like the others; liblinear draws nothing when it solves the primal.
    fit = LogisticRegression(C=STRENGTH, solver="liblinear", fit_intercept=False, max_iter=300)
    fit.fit(matrix @ diags(scale), is_rule, sample_weight=importance)
    return [float(weight) for weight in fit.coef_[0] * scale]


def _as_text(weights: dict[str, float]) -> str:
    lines: dict[int, list[str]] = defaultdict(list)
    for feature, weight in sorted(weights.items()):
        if rounded := max(-MOST, min(MOST, round(weight * SCALE))):
            lines[rounded].append(feature)
    return "".join(
        "\t".join([str(weight), *lines[weight]]) + "\n" for weight in sorted(lines, reverse=True)
    )
