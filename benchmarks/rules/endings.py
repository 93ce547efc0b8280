"""Fitting and measuring what later sentences do to rules: ``just bench rules train-endings``.

The pairs in ``benchmarks/rules/endings`` were written to train with. A third of their rules, by
hash, is set aside and measured. Sentences of other training text that share a subject with a rule
by chance are learnt as such that keep it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from attrs import frozen

from benchmarks.rules.sentences import DATA, written
from polycontext.linearity.classification import Effect, ending_of, find_rules, subjects_of
from polycontext.linearity.classification import endings as classifier
from polycontext.linearity.classification.model import key_of

PAIRS = Path(__file__).with_name("endings")
EFFECTS = {"x": Effect.ENDS, "r": Effect.REPLACES, "k": Effect.KEEPS}
RULE = "# rule: "
STRENGTH = 0.3
"""Inverse of the strength of regularisation, chosen by cross-validation over rules."""
LEAST = 2
"""The fewest pairs that a feature must occur in."""
CAUTION = 0.5
"""What is taken off the score of every pair: ending a rule by mistake is worse than keeping it."""
SCALE = 30
CHANCE, CHANCE_IMPORTANCE, LONGEST = 800, 0.4, 200
"""How many sentences that meet a rule by chance are learnt, how much each counts, and the most
characters of one."""


@frozen
class Pair:
    """A rule, a later sentence, and what the sentence does to the rule."""

    rule: str
    later: str
    effect: Effect
    importance: float = 1.0

    @property
    def is_unseen(self) -> bool:
        """Return whether the pair may only be measured."""
        return hashlib.sha256(self.rule.encode()).digest()[0] % 3 == 0

    def features(self) -> set[int]:
        """Return the features of the pair."""
        return classifier.features(self.rule, self.later, states=bool(find_rules(self.later)))


def pairs() -> Iterator[Pair]:
    """Yield the written pairs."""
    for path in sorted(PAIRS.glob("*.txt")):
        rule = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(RULE):
                rule = line.removeprefix(RULE)
            elif line[:1] in EFFECTS and line[1:2] == " ":
                yield Pair(rule, line[2:], EFFECTS[line[0]])


def shared() -> Iterator[Pair]:
    """Yield the pairs of the shared data."""
    for record in map(json.loads, (DATA / "rules_ended.jsonl").read_text().splitlines()):
        ended = Effect.REPLACES if record["stands"] else Effect.ENDS
        yield Pair(record["rule"], record["later"], ended if record["ends"] else Effect.KEEPS)


def met_by_chance(rules: Sequence[str]) -> Iterator[Pair]:
    """Yield sentences of the training text that share a subject with a rule and keep it."""
    draw = Random(3)  # noqa: S311 - which sentences meet is no secret
    others = [turn.text for turn in written() if len(turn.text) < LONGEST]
    draw.shuffle(others)
    count = 0
    for said in others:
        about = subjects_of(said)
        near = [rule for rule in rules if about & subjects_of(rule)]
        if near and count < CHANCE:
            count += 1
            yield Pair(draw.choice(near), said, Effect.KEEPS, CHANCE_IMPORTANCE)


def train(tell: Callable[[str], None]) -> None:
    """Write the weights into their files; needs scikit-learn."""
    from benchmarks.rules.training import write_weights  # noqa: PLC0415

    known = [pair for pair in pairs() if not pair.is_unseen]
    known += met_by_chance(sorted({pair.rule for pair in known}))
    ends = _fitted(known, [pair.effect is not Effect.KEEPS for pair in known])
    ended = [pair for pair in known if pair.effect is not Effect.KEEPS]
    replaces = _fitted(ended, [pair.effect is Effect.REPLACES for pair in ended])
    bias = key_of("@")
    ends[bias] = ends.get(bias, 0.0) - CAUTION
    for name, weights in (("endings", ends), ("replacements", replaces)):
        write_weights(name, weights, tell, scale=SCALE)


def _fitted(known: Sequence[Pair], is_so: Sequence[bool]) -> dict[int, float]:
    import numpy as np  # noqa: PLC0415
    from scipy.sparse import csr_matrix  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    rows = [pair.features() for pair in known]
    seen = Counter(key for row in rows for key in row)
    places = {key: n for n, key in enumerate(key for key, count in seen.items() if count >= LEAST)}
    kept = [[places[key] for key in row if key in places] for row in rows]
    ends = np.cumsum([0, *map(len, kept)])
    columns = np.concatenate([np.array(row, dtype=np.int64) for row in kept])
    matrix = csr_matrix((np.ones(len(columns)), columns, ends), (len(rows), len(places)))
    fit = LogisticRegression(C=STRENGTH, fit_intercept=False, max_iter=3_000)
    fit.fit(matrix, np.array(is_so), sample_weight=[pair.importance for pair in known])
    return dict(zip(places, fit.coef_[0].tolist(), strict=True))


def measure(tell: Callable[[str], None]) -> None:
    """Print how often the effect of a pair is found, of those set aside and of the shared ones."""
    for name, those in (
        ("set aside", [pair for pair in pairs() if pair.is_unseen]),
        ("shared", [*shared()]),
    ):
        found = [_found(pair) for pair in those]
        right = sum(pair.effect is effect for pair, effect in zip(those, found, strict=True))
        kept = [e for pair, e in zip(those, found, strict=True) if pair.effect is Effect.KEEPS]
        wrongly = sum(effect is not Effect.KEEPS for effect in kept)
        tell(f"{name}: right {right} of {len(those)}; ended wrongly {wrongly} of {len(kept)}")
        for pair, effect in zip(those, found, strict=True):
            if pair.effect is not effect:
                tell(f"  {pair.effect.value}, not {effect.value}: {pair.rule} | {pair.later}")


def _found(pair: Pair) -> Effect:
    if not subjects_of(pair.later) & subjects_of(pair.rule):
        return Effect.KEEPS
    ended = ending_of([pair.rule], pair.later, states=bool(find_rules(pair.later)))
    return Effect.KEEPS if ended is None else ended[1]
