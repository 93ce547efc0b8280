"""Fitting and measuring what later sentences do to rules: ``just bench rules train-endings``.

The pairs in ``benchmarks/rules/endings`` were written to train with. A third of their rules, by
hash, is set aside and measured. Sentences of other training text that share a subject with a rule
by chance are learnt as such that keep it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from random import Random

from attrs import frozen

from benchmarks.rules.sentences import DATA, written
from polycontext.linearity.classification import endings as classifier
from polycontext.linearity.classification import find_rules
from polycontext.linearity.classification.endings import Effect, ending_of, subjects_of
from polycontext.linearity.classification.model import key_of

PAIRS = Path(__file__).with_name("endings")
EFFECTS = {"x": Effect.ENDS, "r": Effect.REPLACES, "k": Effect.KEEPS}
RULE = "# rule: "
STRENGTH, SKEW = 0.6, 0.5
"""See `training.fitted`; chosen by cross-validation over rules."""
CAUTION = 0.5
"""What is taken off the score of every pair: ending a rule by mistake is worse than keeping it."""
FIRM = 1.5
"""What is added where a rule is said again with another value in its last place."""
_PLAIN = ("2 True True True False", "2 True True True True", "1 True True True True")
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
    from benchmarks.rules.training import fitted, write_weights  # noqa: PLC0415

    def weights(those: Sequence[Pair], effects: Collection[Effect]) -> dict[int, float]:
        rows = [Counter(pair.features()) for pair in those]
        so = [pair.effect in effects for pair in those]
        worth = [pair.importance for pair in those]
        return fitted(rows, worth, so, strength=STRENGTH, skew=SKEW)

    known = [pair for pair in pairs() if not pair.is_unseen]
    known += met_by_chance(sorted({pair.rule for pair in known}))
    ends = weights(known, (Effect.ENDS, Effect.REPLACES))
    ended = [pair for pair in known if pair.effect is not Effect.KEEPS]
    bias = key_of("@")
    ends[bias] = ends.get(bias, 0.0) - CAUTION
    for swap in _PLAIN:
        key = key_of(f"@swap replace {swap} True + False")
        ends[key] = ends.get(key, 0.0) + FIRM
    write_weights("endings", ends, tell, scale=SCALE)
    write_weights("replacements", weights(ended, (Effect.REPLACES,)), tell, scale=SCALE)


def measure(tell: Callable[[str], None]) -> None:
    """Print how often the effect of a pair is found, of those set aside and of the shared ones.

    A rule that should stand and does is right, with a later sentence beside it or not. One that
    should end is right if it ends as it should; those that stand with the mark are counted apart.
    """
    for name, those in (
        ("set aside", [pair for pair in pairs() if pair.is_unseen]),
        ("shared", [*shared()]),
    ):
        found = Counter((pair.effect, _found(pair)) for pair in those)
        kept = sum(count for (effect, _), count in found.items() if effect is Effect.KEEPS)
        right = sum(found[effect, effect] for effect in EFFECTS.values())
        beside = found[Effect.KEEPS, Effect.MAY_END]
        marked = sum(count for (_, effect), count in found.items() if effect is Effect.MAY_END)
        wrongly = kept - found[Effect.KEEPS, Effect.KEEPS] - beside
        tell(
            f"{name}: right {right + beside}, or left to stand with the mark {right + marked}, "
            f"of {len(those)}; ended wrongly {wrongly}, marked {beside} of {kept}"
        )
        for pair in those:
            if pair.effect is not (effect := _found(pair)):
                tell(f"  {pair.effect.value}, not {effect.value}: {pair.rule} | {pair.later}")


def _found(pair: Pair) -> Effect:
    if not subjects_of(pair.later) & subjects_of(pair.rule):
        return Effect.KEEPS
    ended = ending_of([pair.rule], pair.later, states=bool(find_rules(pair.later)))
    return Effect.KEEPS if ended is None else ended[1]
