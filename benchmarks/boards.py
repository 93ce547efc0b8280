"""Run public benchmarks of compaction on the default summariser, beside their own methods.

The boards are packages, installed in an environment of their own. Seeds are drawn anew in each run
and printed, so that a run can be repeated and nothing is tuned to one.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from math import isnan, nan
from pathlib import Path
from random import SystemRandom
from statistics import fmean
from typing import Any

from polycontext import ExtractiveSummariser, Turn
from polycontext.window import TiktokenCounter, TokenCounter

OURS = "**polycontext**"
KIT, COMPACTBENCH = "compaction-conformance-kit", "compactbench"
BUDGETS = (0.1, 0.2, 0.4)
RATIOS = (2, 4, 8)
MOST_SEEDS = 100_000

PAGE = Path(__file__).parents[1] / "docs" / "boards.md"
START, END = "<!-- results -->", "<!-- end of results -->"

Row = tuple[str, Sequence[float]]
"""A method with its figures."""


class Characters:
    """A counter for boards that count characters."""

    exact = True

    def count(self, text: str) -> int:
        """Return the number of characters."""
        return len(text)


class Ours:
    """The default summariser as a compactor of the kit."""

    name = OURS

    def compact(self, turns: Sequence[Any], round_num: int = 1, budget_chars: int = 0) -> Any:
        """Return the summary of `turns`; an earlier one that fits stands."""
        room = budget_chars or sum(len(turn.text) for turn in turns)
        is_summary = round_num > 1 and len(turns) == 1 and len(turns[0].text) <= room
        text = turns[0].text if is_summary else summary(turns, "text", room, Characters())
        kit = import_module("compaction_kit.compacted")
        return kit.CompactedContext(text, self.name, round_num)


def summary(turns: Sequence[Any], field: str, room: int, counter: TokenCounter) -> str:
    """Return the summary of a board's turns, whose text is in `field`."""
    told = [Turn(str(turn.role), getattr(turn, field)) for turn in turns]
    return ExtractiveSummariser().summarise(told, room, counter=counter)


def kit_rows(seeds: Sequence[int]) -> Iterator[tuple[str, list[Row]]]:
    """Yield a title and the rows of each measure of the kit."""
    factories = {OURS: Ours, **import_module("compaction_kit.cli").COMPACTORS}
    benchmark = import_module("compaction_kit.benchmark").run_budget_benchmark
    found = benchmark(factories, budgets=BUDGETS, seeds=seeds)["entries"]
    measures: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
        "values that survive five rounds": lambda e: e["randomized"]["overall_final_survival"],
        "restated values: newest kept, old one gone": lambda e: e["semantic"]["resolved_rate"],
        "similar values that are both kept": lambda e: e["semantic"]["distinct_pair_rate"],
    }
    for title, measure in measures.items():
        of_name: dict[str, list[float]] = {name: [] for name in factories}
        for entry in sorted(found, key=lambda entry: entry["budget_fraction"]):
            fits = entry["budget_compliant"]
            of_name[entry["compactor"]].append(measure(entry) if fits else nan)
        yield title, [*of_name.items()]


def compactbench_rows(templates: Path, seeds: Sequence[int]) -> list[Row]:
    """Return the share of each method's recall items whose answer is in its text."""
    dsl, engine = import_module("compactbench.dsl"), import_module("compactbench.engine")
    check = import_module("compactbench.scoring.checks").run_check
    counter = TiktokenCounter("cl100k_base")
    scores: dict[str, list[list[float]]] = {name: [[] for _ in RATIOS] for name in _METHODS}
    for template in dsl.load_suite(templates):
        for seed in seeds:
            case = engine.generate_case(template, seed, dsl.DifficultyLevel.ELITE)
            turns, asked = case.transcript.turns, [item.expected for item in case.evaluation_items]
            # What must not be said next may well be remembered.
            asked = [expected for expected in asked if expected["check"] != "forbidden_absent"]
            tokens = sum(counter.count(turn.content) for turn in turns)
            for name, method in _METHODS.items():
                for place, ratio in enumerate(RATIOS):
                    text = method(turns, tokens // ratio, counter)
                    scores[name][place] += [check(expected, text) for expected in asked]
    return [(name, [*map(fmean, each)]) for name, each in scores.items()]


def _newest(turns: Sequence[Any], room: int, counter: TokenCounter) -> str:
    kept = list[str]()
    for turn in reversed(turns):
        room -= counter.count(turn.content)
        if room < 0:
            break
        kept.append(turn.content)
    return "\n".join(reversed(kept))


_METHODS: Mapping[str, Callable[[Sequence[Any], int, TokenCounter], str]] = {
    OURS: lambda turns, room, counter: summary(turns, "content", room, counter),
    "the newest messages": _newest,
}


def table(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    r"""Yield the lines of a Markdown table, with figures that are better than ours in bold.

    >>> print(*table(["10%"], [(OURS, [0.5]), ("another", [0.75]), ("a third", [nan])]), sep="\n")
    | method | 10% |
    |---|---|
    | **polycontext** | 0.500 |
    | another | **0.750** |
    | a third | over budget |
    <BLANKLINE>
    """
    ours = dict(rows)[OURS]
    yield f"| method | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, figures in rows:
        cells = (_cell(*each) for each in zip(figures, ours, strict=True))
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def _cell(figure: float, ours: float) -> str:
    if isnan(figure):
        return "over budget"
    return f"**{figure:.3f}**" if figure > ours else f"{figure:.3f}"


def results(seeds: Sequence[int], templates: Path | None) -> Iterator[str]:
    """Yield the lines of all results."""
    listed = ", ".join(map(str, seeds))
    yield f"Run on {datetime.now(UTC):%Y-%m-%d} with seeds {listed}. Bold: better than ours."
    yield ""
    yield f"### {KIT} {version(KIT)}"
    yield ""
    for title, rows in kit_rows(seeds):
        yield f"{title.capitalize()}, by budget (a share of the characters):"
        yield ""
        yield from table([f"{budget:.0%}" for budget in BUDGETS], rows)
    if templates is not None:
        yield f"### {COMPACTBENCH} {version(COMPACTBENCH)}, public templates"
        yield ""
        yield "Answers that are in the compacted text, by compression:"
        yield ""
        yield from table([f"{ratio}x" for ratio in RATIOS], compactbench_rows(templates, seeds))


def main() -> int:
    """Print the results; with ``--write``, put them into docs/boards.md."""
    parser = argparse.ArgumentParser(prog="just boards", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", help="seeds of an earlier run")
    parser.add_argument("--number", type=int, default=12, help="how many seeds to draw (12)")
    parser.add_argument(
        "--templates", type=Path, help="a folder of templates in a clone of CompactBench"
    )
    parser.add_argument("--write", action="store_true", help="write the tables to docs/boards.md")
    given = parser.parse_args()
    seeds = given.seeds or sorted(SystemRandom().sample(range(1, MOST_SEEDS), given.number))
    text = "\n".join(results(seeds, given.templates)).strip()
    print(text)
    if given.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
