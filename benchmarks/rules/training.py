"""Fitting the weights of the classifier of rules: a logistic regression over sentences.

The features that matter most are kept, as many as fit into the files, and fitted again. The bias is
shifted so that the model, fitted to the other sources each time, flags few turns without a rule.
"""

import hashlib
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
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
from polycontext.linearity.classification.prose import sentences, unbulleted, unquoted

WEIGHTS = Path(__file__).parents[2] / "linearity" / "classification" / "weights"
LARGEST = {"rules": 54_000, "preferences": 6_000}
"""Bytes of each file."""
SCALE, MOST = 24, 127
"""What a weight is multiplied with before it is rounded, and the largest weight then."""
STRENGTH = 0.1
"""Inverse of the strength of regularisation, chosen by the recall of sources left out."""
PHRASE = 3.55
"""The least weight of a phrase that states a rule."""
FIRM = 2.9
"""What is added for the beginnings of prohibitions and limits, and taken off for what passes. In
what is learnt, orders of the moment ("Don't merge it yet") are more frequent than with users."""
MARGIN = 0.12
"""What the threshold is raised by, since new text differs more than a source left out."""
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
    "rules": 8.0,
    "written": 1.5,
    "noted": 1.0,
    "hard": 2.0,
    "easy": 0.6,
    "qmsum": 0.8,
    "bfcl_memory": 1.0,
    "tau_airline_gpt4o": 0.5,
    "swebench_mini": 0.05,
}
"""The weight of a sentence of each set. The tasks of coding runs state rules themselves."""
FLAGGED = {"hard": 0.018, "easy": 0.009, "qmsum": 0.008, "tau_airline_gpt4o": 0.0099}
"""The largest share of English turns without a rule that may be flagged, of those left out."""


@frozen(eq=False)
class Example:
    """A sentence as features, with the turn it belongs to, and whether it states a rule."""

    features: frozenset[int]
    turn: Turn
    is_rule: bool


def examples() -> list[Example]:
    """Return what is learnt from, as features."""
    model = classifier.own_model()
    return [
        Example(_features(model, unquoted(unbulleted(sentence))), turn, is_rule)
        for turn in learnt()
        for sentence, is_rule in _judged(turn)
    ]


def _features(model: classifier.Model, sentence: str) -> frozenset[int]:
    kinds = model.table.kinds_of(words_of(sentence))
    return frozenset(model.words.features(sentence) | classifier.phrase_features(sentence, kinds))


def _judged(turn: Turn) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a turn, and whether each states a rule."""
    if turn.stated:
        stated = set(sentences(turn.stated))
        yield from ((each, each in stated) for each in sentences(turn.text))
    else:
        yield from ((each, turn.is_rule) for each in sentences_of(turn))


def train(tell: Callable[[str], None]) -> None:
    """Write the weights into their files."""
    known = examples()
    rules = [each for each in known if each.is_rule]
    tell(f"{len(known)} sentences, {len(rules)} of them rules")
    weights = _fitted(known, [each.is_rule for each in known], LARGEST["rules"])
    # The phrases of rules are rarer in what is learnt than they are precise.
    phrases = classifier.key_of("@rule")
    weights[phrases] = max(weights.get(phrases, 0.0), PHRASE)
    for signs, worth in ((_BEGINNINGS, FIRM), (_PASSING, -FIRM)):
        for sequence in signs:
            *_, key = classifier.sequences(sequence, len(sequence))
            weights[key] = weights.get(key, 0.0) + worth
    bias = classifier.key_of("@")
    weights[bias] = weights.get(bias, 0.0) - _threshold(known, tell) - MARGIN
    _write("rules", weights, tell)
    prefers = [each.turn.kind == "prefer" for each in rules]
    _write("preferences", _fitted(rules, prefers, LARGEST["preferences"]), tell)


def _threshold(known: Sequence[Example], tell: Callable[[str], None]) -> float:
    """Return the score above which few turns without a rule are, when their source is left out."""
    scores: dict[Turn, float] = defaultdict(lambda: -99.0)
    folds = [hashlib.sha256(each.turn.group.encode()).digest()[1] % FOLDS for each in known]
    for fold in range(FOLDS):
        rest = [each for each, its in zip(known, folds, strict=True) if its != fold]
        weights = _fitted(rest, [each.is_rule for each in rest], LARGEST["rules"])
        for each, its in zip(known, folds, strict=True):
            if its == fold and each.is_rule is each.turn.is_rule:
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
    for told in _shares(scores, threshold):
        tell(told)
    tell(f"threshold {threshold:.2f}")
    return threshold


def _shares(scores: Mapping[Turn, float], threshold: float) -> Iterator[str]:
    found = defaultdict(list)
    for turn, score in scores.items():
        language = "en" if turn.language == "en" else "other"
        found[turn.set, language, turn.is_rule].append(score > threshold)
    for name, flags in sorted(found.items()):
        yield f"{name} {mean(flags):.4f} of {len(flags)}"


def _fitted(known: Sequence[Example], is_so: Sequence[bool], size: int) -> dict[int, float]:
    """Return the weights of the features that matter most, as many as fit into `size` bytes."""
    rows = [np.fromiter(each.features, dtype=np.int64) for each in known]
    keys, places, counts = np.unique(np.concatenate(rows), return_inverse=True, return_counts=True)
    ends = np.cumsum([0, *map(len, rows)])
    matrix: Any = csr_matrix((np.ones(ends[-1]), places, ends), shape=(len(rows), len(keys)))
    kept = np.flatnonzero(counts > 1)
    importance = np.array([IMPORTANCE[each.turn.set] for each in known])
    weights = _regression(matrix[:, kept], np.array(is_so), importance)
    most = size // classifier.BYTES - 100
    kept = kept[np.argsort(-np.abs(weights))[:most]]
    weights = _regression(matrix[:, kept], np.array(is_so), importance)
    return dict(zip(keys[kept].tolist(), weights.tolist(), strict=True))


def _regression(matrix: Any, is_so: Any, importance: Any) -> Any:
    """Return the weight of each column.

    Features that are much more frequent in one class are scaled up, so that regularisation affects
    them less (Wang and Manning, "Baselines and Bigrams", 2012).
    """
    stated, other = (
        np.log((1 + matrix.T @ share) / share.sum())
        for share in (is_so * importance, ~is_so * importance)
    )
    scale = np.abs(stated - other)
    # The bias is a feature like the others; liblinear draws nothing when it solves the primal.
    fit = LogisticRegression(
        C=STRENGTH, solver="liblinear", fit_intercept=False, max_iter=300, tol=1e-3
    )
    fit.fit(matrix @ diags(scale), is_so, sample_weight=importance)
    return fit.coef_[0] * scale


def _write(name: str, weights: Mapping[int, float], tell: Callable[[str], None]) -> None:
    scaled = {key: round(weight * SCALE) for key, weight in weights.items()}
    data = written_weights(
        {key: max(-MOST, min(MOST, weight)) for key, weight in scaled.items() if weight}
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
    return struct.pack(f"<{len(keys)}H{len(keys)}b", *steps, *(weights.get(key, 0) for key in keys))
