"""Train the classifiers of rules and of their endings, or measure them: ``just bench rules``."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from time import process_time

from benchmarks.rules import endings
from benchmarks.rules.sentences import Turn, recorded, shared
from polycontext.linearity.classification import find_rules

ONE_REPLY = "shisa-ai/M-IFEval"
"""A source whose instructions bind one reply; they are counted apart."""


def measure() -> None:
    """Print the share of texts of the unseen half in which a rule is found, and the time each."""
    found: dict[str, list[bool]] = defaultdict(list)
    turns = [*shared(unseen=True), *recorded(unseen=True)]
    list(find_rules("Never push."))
    began = process_time()
    for turn in turns:
        states = bool(find_rules(turn.text))
        for name in _names(turn):
            found[name].append(states)
    took = process_time() - began
    for name, flags in sorted(found.items()):
        print(f"{name:<40}{sum(flags) / len(flags):7.4f}  of {len(flags)}")
    print(f"{took / sum(len(turn.text) for turn in turns) * 1e9:.0f} ns a character")


def _names(turn: Turn) -> Sequence[str]:
    if not turn.is_rule:
        shared_sets = ("without a rule",) if turn.set in ("hard", "easy") else ()
        return (f"flagged: {turn.set}", *(f"flagged: {name}" for name in shared_sets))
    if turn.group.startswith(ONE_REPLY):
        return ("found: bind one reply",)
    names = [f"found: {turn.language}", "found: all", f"found: kind {turn.kind}"]
    return [*names, *(("found: not en",) if turn.language != "en" else ())]


def main(arguments: Sequence[str]) -> int:
    """Train, or measure the unseen half."""
    match arguments:
        case ["train"]:
            # Needs scikit-learn, which measuring does not.
            from benchmarks.rules.training import train  # noqa: PLC0415

            train(print)
        case ["train-endings"]:
            endings.train(print)
        case ["measure-endings"]:
            endings.measure(print)
        case ["measure"]:
            measure()
        case _:
            print("use [train|measure][-endings]", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
