"""Learn the features of injections from sentences: `python -m benchmarks.retention.teaching`.

The command writes the weights; the classes of words in the file stay unchanged. `--judge` holds out
each style, each language and each fifth in turn.
"""

import json
import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.retention.noted import Item, written_lines
from polycontext.pressure.injections import CERTAIN, FILE, features

ROUNDS, STEP, DECAY = 30, 0.3, 4.0
"""The passes over the sentences, the learning rate, and the decay of a weight in one pass."""

FEWEST, MOST_WEIGHTS = 2, 1_650
"""The least number of sentences with a feature, and the most features that keep a weight.

The features with the largest weights are kept.
"""

FOLDS = 5

Weights = Mapping[str, float]
Example = tuple[Sequence[str], bool]


def examples(items: Sequence[Item]) -> list[Example]:
    """Return the features of each sentence in a fixed order, and whether it is an injection."""
    return [(sorted(features(item["text"])), item["injected"]) for item in items]


def sentences() -> list[Item]:
    """Return all sentences to learn from."""
    files = (("injections", True), ("plain", False))
    return [
        {**item, "injected": injected} for name, injected in files for item in written_lines(name)
    ]


def fit(taught: Sequence[Example]) -> dict[str, float]:
    """Return the rounded weights of a logistic regression, the heaviest first.

    The bias is under the empty string.
    """
    often = Counter(feature for known, _ in taught for feature in known)
    shown = [
        ([*filter(lambda feature: often[feature] >= FEWEST, known), ""], injected)
        for known, injected in taught
    ]
    often[""] = len(taught)
    weights, squares = defaultdict[str, float](float), defaultdict[str, float](lambda: 1.0)
    draw = random.Random(1)  # noqa: S311 - the order of a lesson, no secret
    for _ in range(ROUNDS):
        draw.shuffle(shown)
        for known, injected in shown:
            likely = 1 / (1 + math.exp(-sum(weights[feature] for feature in known)))
            for feature in known:
                slope = (
                    likely
                    - injected
                    + (DECAY * weights[feature] / often[feature] if feature else 0.0)
                )
                squares[feature] += slope * slope
                weights[feature] -= STEP * slope / math.sqrt(squares[feature])
    heavy = sorted(weights, key=lambda feature: (feature != "", -abs(weights[feature]), feature))[
        : MOST_WEIGHTS + 1
    ]
    return {feature: round(weights[feature], 2) for feature in heavy}


def spelled(weights: Weights) -> str:
    """Return the text of the file, with its classes and new weights."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    return (
        json.dumps({"classes": data["classes"], "weights": weights}, ensure_ascii=False, indent=0)
        + "\n"
    )


def judged(
    items: Sequence[Item], group: Callable[[int, Item], Any]
) -> Iterator[tuple[Any, int, int, int, int]]:
    """Yield the name of each group and its counts, with weights that were learned without it.

    The counts are hits, injections, false alarms and plain sentences.
    """
    taught = examples(items)
    groups = [group(place, item) for place, item in enumerate(items)]
    for name in sorted(set(groups)):
        weights = fit(
            [example for example, other in zip(taught, groups, strict=True) if other != name]
        )
        found = [(injected, sum(weights.get(feature, 0.0) for feature in ("", *known)) > CERTAIN)
                 for (known, injected), other in zip(taught, groups, strict=True)
                 if other == name]  # fmt: skip
        counts = Counter(found)
        hits, wrong = counts[True, True], counts[False, True]
        yield name, hits, hits + counts[True, False], wrong, wrong + counts[False, False]


def main() -> None:
    """Write the weights, or judge them."""
    items = sentences()
    if "--judge" not in sys.argv:
        FILE.write_text(spelled(fit(examples(items))), encoding="utf-8")
        return
    draw = random.Random(3)  # noqa: S311 - which fifth, no secret
    draw.shuffle(items)
    ways: dict[str, Callable[[int, Item], Any]] = {
        "style": lambda _, item: item["style"],
        "language": lambda _, item: item["language"],
        "fifth": lambda place, _: place % FOLDS,
    }
    for way, group in ways.items():
        for name, hits, injections, wrong, plain in judged(items, group):
            print(
                f"{way} {name}: {hits} of {injections} injections, {wrong} of {plain} plain "
                "sentences"
            )


if __name__ == "__main__":
    main()
