"""The command: what is measured, over what, and where the results go."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.retention.methods import METHODS
from benchmarks.retention.projecting import measure
from benchmarks.retention.recordings import DATA, HALVES, SETS, load
from benchmarks.retention.report import differences, print_gates, table

WIDTH = 170


def parser() -> argparse.ArgumentParser:
    """Return what the command takes."""
    made = argparse.ArgumentParser(prog="just retention", description="Measure what is left of recorded conversations where it is needed.")
    made.add_argument("--set", action="append", choices=SETS, help="a set of recordings, may be given several times (default: all)")
    made.add_argument("--half", choices=HALVES, default="tuning", help="which conversations; unseen is for reports only (default: tuning)")
    made.add_argument("--sample", type=int, metavar="N", help="at most N probes of each set, chosen by hash")
    made.add_argument(
        "--budgets", type=float, nargs="+", default=[10, 25, 50], metavar="PERCENT", help="shares of the tokens (default: 10 25 50)"
    )
    made.add_argument("--method", action="append", choices=METHODS, help="a method, may be given several times (default: project)")
    made.add_argument("--all-methods", action="store_true", help="the library and all that is measured beside it")
    made.add_argument("--no-gates", action="store_true", help="leave out the gates that ask a method again (three times faster)")
    made.add_argument("--intervals", action="store_true", help="print 95 %% bootstrap intervals over conversations")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    made.add_argument("--against", type=Path, metavar="FILE", help="print what differs from the results in FILE")
    made.add_argument("--quiet", action="store_true", help="no progress")
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the command; 2 where the recordings are not there."""
    asked = parser().parse_args(arguments)
    if not DATA.is_dir():
        print(
            f"retention needs the recorded conversations in shared/data beside the project's folder; {DATA} is not there", file=sys.stderr
        )
        return 2
    console = Console(width=WIDTH)
    with _progress(quiet=asked.quiet) as tell:
        results = {"projections": projections(asked, console, tell)}
    _keep(asked, console, results)
    return 0


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Any]:
    if quiet:
        yield lambda _: None
        return
    console = Console(stderr=True)
    with console.status("") as status:
        yield status.update


def projections(asked: argparse.Namespace, console: Console, tell: Any) -> dict[str, Any]:
    """Measure methods one projection at a time; print a table for each set as soon as it is there."""
    methods = list(METHODS) if asked.all_methods else asked.method or ["project"]
    found: dict[str, Any] = {}
    for name in asked.set or SETS:
        conversations = load(name, asked.half, asked.sample)
        found[name] = {method: {} for method in methods}
        for method in methods:
            for percent in asked.budgets:
                gates = method == "project" and not asked.no_gates
                figures = measure(METHODS[method], conversations, percent / 100, gates=gates, tell=tell)
                found[name][method][f"{percent:g} %"] = figures.as_data()
        console.print(table(f"{name}, {asked.half}, {len(conversations)} conversations", found[name], intervals=asked.intervals))
        print_gates(console, name, found[name])
    return found


def _keep(asked: argparse.Namespace, console: Console, results: dict[str, Any]) -> None:
    if asked.against:
        before = json.loads(asked.against.read_text(encoding="utf-8"))
        for path, old, new in differences(json.loads(json.dumps(results)), before):
            console.print(f"{path}: {old:.4g} -> {new:.4g} ({new - old:+.4g})")
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
