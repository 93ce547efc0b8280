"""The command: selects what is measured on which recordings, and where the results go."""

import argparse
import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.retention import (
    aging,
    chats,
    dead_ends,
    extracts,
    growing,
    judge,
    logs,
    needs,
    noted,
    outcomes,
    projecting,
    report,
)
from benchmarks.retention.growing import PAIRS, Way
from benchmarks.retention.methods import ASKED, METHODS, Method
from benchmarks.retention.peers import PEER, is_installed, trimmed
from benchmarks.retention.recordings import AGENTS, DATA, HALVES, SETS, load, recorded
from polycontext.pressure import ContextProjector

WIDTH = 170
LOOPS = 10_000
TURNS = 10_000
SUMMARIES = 2_000

Tell = Callable[[str], None]


@contextmanager
def progress(*, quiet: bool) -> Generator[Tell]:
    """Yield a callback that reports progress on stderr, and does nothing without a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    with console.status("") as status:
        yield status.update


class Run:
    """The options of a run, and the console to print on.

    Each part of the command is a method that returns JSON-ready figures.
    """

    def __init__(self, asked: argparse.Namespace, console: Console, tell: Tell) -> None:
        self.asked, self.console, self.tell = asked, console, tell
        self.sets: list[str] = asked.set or list(SETS)
        self.shares = [(f"{percent:g} %", percent / 100) for percent in asked.budgets]
        self.ways = [Way(high, low, asked.projector) for high, low in asked.thresholds or PAIRS[:1]]

    def projections(self) -> dict[str, Any]:
        """Measure methods on single projections."""
        names = list(METHODS) if self.asked.all_methods else self.asked.method or ["project"]
        return self._methods({name: METHODS[name] for name in names})

    def peer(self) -> dict[str, Any]:
        """Measure another library if it is installed, with this library's figures beside it."""
        if is_installed():
            return self._methods({"project": METHODS["project"], PEER: trimmed})
        self.console.print(
            f"{PEER}: not installed; `just bench retention_peer {PEER}` measures it in an "
            "environment of its own"
        )
        return {}

    def _methods(self, methods: dict[str, Method]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in self.sets:
            conversations = load(name, self.asked.half, self.asked.sample, self.asked.data)
            found[name] = {method: {} for method in methods}
            for method, cut in methods.items():
                for label, share in self.shares:
                    again = method == "project" and not self.asked.no_gates
                    figures = projecting.measure(
                        cut,
                        conversations,
                        share,
                        gates=again,
                        asked=method in ASKED,
                        tell=self.tell,
                    )
                    found[name][method][label] = figures.as_data()
            title = f"{name}, {self.asked.half}, {len(conversations)} conversations"
            self.console.print(report.projections(title, found[name]))
            report.print_gates(self.console, name, found[name])
            report.print_of_best(self.console, name, found[name])
        return found

    def sessions(self) -> dict[str, Any]:
        """Grow conversations turn by turn."""
        found: dict[str, Any] = {}
        for name in self.sets:
            conversations = load(name, self.asked.half, self.asked.sample, self.asked.data)
            found[name] = {
                str(way): {
                    label: growing.measure(conversations, share, way, tell=self.tell).as_data()
                    for label, share in self.shares
                }
                for way in self.ways
            }
            self.console.print(
                report.sessions(
                    f"{name} grown, {self.asked.half}, {len(conversations)} conversations",
                    found[name],
                )
            )
        return found

    def aging(self) -> dict[str, Any]:
        """Check which identifiers are in view after many compressions."""
        found: dict[str, Any] = {}
        for name in (name for name in self.sets if name in AGENTS):
            chain = aging.chained(
                load(name, self.asked.half, self.asked.sample, self.asked.data),
                aging.WINDOWS * self.asked.window,
            )
            found[name] = {
                str(way): aging.measure_aging(
                    chain, way, window=self.asked.window, tell=self.tell
                ).as_data()
                for way in self.ways
            }
            title = (
                f"{name}, {len(chain.messages)} messages in {self.asked.window} tokens: "
                "identifiers in view, session / whole log / session with record"
            )
            self.console.print(report.aging(title, found[name]))
        return found

    def cycles(self) -> dict[str, Any]:
        """Count how many turns a compression serves, early and late."""
        found: dict[str, Any] = {}
        for name in (name for name in self.sets if name in AGENTS):
            conversations = load(name, self.asked.half, self.asked.sample, self.asked.data)
            found[name] = {
                str(way): aging.measure_cycles(
                    conversations, self.asked.turns, way, window=self.asked.window, tell=self.tell
                )
                for way in self.ways
            }
            self.console.print(
                report.cycles(
                    f"{name}: turns that a compression serves in {self.asked.window} tokens",
                    found[name],
                )
            )
        return found

    def notes(self) -> dict[str, Any]:
        """Check for the things that a careful colleague would note."""
        hosts = [
            each
            for name in self.sets
            for each in load(name, self.asked.half, self.asked.sample, self.asked.data)
        ]
        shares = dict(self.shares)
        found: dict[str, Any] = {}
        for way in self.ways:
            measured = noted.measure(
                hosts, shares, self.asked.half, way=way, window=self.asked.window, tell=self.tell
            )
            found[str(way)] = {name: each.as_data() for name, each in measured.items()}
            self.console.print(
                report.notes(f"notes, thresholds {way}, {self.asked.half}", found[str(way)])
            )
        return found

    def outcomes(self) -> dict[str, Any]:
        """Look for what came of calls that change something."""
        found: dict[str, Any] = {}
        hosts = [*recorded("tau", self.asked.half, self.asked.data)]
        for label, share in self.shares:
            noted_ones = outcomes.measure(hosts, share, self.asked.half, tell=self.tell)
            found[label] = noted_ones.as_data()
            title = f"outcomes of calls, {label}, {self.asked.half}"
            self.console.print(report.shares(title, found[label]["shares"]))
        return found

    def judge(self) -> dict[str, Any]:
        """Judge summaries: whether all of it is from the sources, and every cut is marked."""
        conversations = [
            each
            for name in self.sets
            for each in load(name, self.asked.half, self.asked.sample, self.asked.data)
        ]
        found = judge.measure(
            conversations, [share for _, share in self.shares], self.asked.summaries, tell=self.tell
        )
        figures = {name: verdict.as_data() for name, verdict in found.items()}
        self.console.print(report.verdicts(f"summaries judged, {self.asked.half}", figures))
        return figures

    def needs(self) -> dict[str, Any]:
        """Look for what the next step needs, beside the last messages only."""
        found: dict[str, Any] = {}
        cases = needs.readings(self.asked.data / needs.FOLDER)
        for name in ("project", "plain tail"):
            for label, share in self.shares:
                told = needs.measure(METHODS[name], cases, share, tell=self.tell)
                found |= {
                    f"{name}, {label}, {kind}": {"share": tally.share, "of": tally.of}
                    for kind, tally in told.items()
                }
        title = f"what the next step needs, {len(cases)} conversations"
        self.console.print(report.shares(title, found))
        return found

    def lines(self) -> dict[str, Any]:
        """Check for requested lines of long logs and tables."""
        found = logs.measure(self.asked.lines, tell=self.tell)
        figures = {name: {"share": tally.share, "of": tally.of} for name, tally in found.items()}
        self.console.print(
            report.shares(
                f"lines that a question asks for, up to {self.asked.lines:,} lines", figures
            )
        )
        return figures

    def chats(self) -> dict[str, Any]:
        """Check for facts that were stated once in long chats."""
        found: dict[str, Any] = {}
        talks = chats.chats(self.asked.half)[: self.asked.sample]
        for label, share in self.shares:
            for name, method, asked in (
                ("project", "project", False),
                ("project, asked", "project", True),
                ("random messages",) * 2 + (False,),
            ):
                tally = chats.measure(METHODS[method], talks, share, asked=asked, tell=self.tell)
                found[f"{name}, {label}"] = {
                    "share": tally.share,
                    "of": tally.of,
                    "interval": tally.interval(),
                }
        self.console.print(
            report.shares(f"evidence found, {self.asked.half}, {len(talks)} chats", found)
        )
        return found

    def extracts(self) -> dict[str, Any]:
        """Summarise a few turns: injected commands in tool results, sources that fit, records."""
        attacked = extracts.attacks(self.asked.half)
        hosts = [
            each
            for name in self.sets
            for each in load(name, self.asked.half, self.asked.sample, self.asked.data)
        ]
        fitting = extracts.fits(hosts, tell=self.tell).as_data()
        self.console.print(report.attacks(f"commands in tool results, {self.asked.half}", attacked))
        self.console.print(report.shares(f"sources that fit, {self.asked.half}", fitting["shares"]))
        self.console.print(
            "tokens of a record beside its JSON: "
            f"{fitting['tokens of a record beside its JSON'] or 0:.3f}"
        )
        return {"attacks": attacked, "fits": fitting}

    def dead_ends(self) -> dict[str, Any]:
        """Look for sessions that cannot continue."""
        found: dict[str, Any] = {}
        for way in self.ways:
            rows = {
                f"{self.asked.loops:,} random loops": dead_ends.in_loops(
                    range(self.asked.loops), way, tell=self.tell
                ).as_data()
            }
            for name in self.sets:
                conversations = list(recorded(name, self.asked.half, self.asked.data))
                for label, share in self.shares:
                    rows[f"{name} {label}"] = dead_ends.in_recordings(
                        conversations, share, way, tell=self.tell
                    ).as_data()
            found[str(way)] = rows
            self.console.print(
                report.dead_ends(f"dead ends, thresholds {way}, {self.asked.half}", rows)
            )
        return found


PARTS: dict[str, tuple[Callable[[Run], dict[str, Any]], str]] = {
    "projections": (
        Run.projections,
        "one projection a probe: gates, recall, budget used, cost (the default)",
    ),
    "sessions": (Run.sessions, "the same conversations grown turn by turn, beside one projection"),
    "aging": (
        Run.aging,
        "identifiers in view after 1, 5, 10, 20 and 50 compressions of a long session",
    ),
    "cycles": (Run.cycles, "how many turns a compression serves as a session grows"),
    "notes": (
        Run.notes,
        "constraints, updates, next steps put into recordings: what stands, what should not",
    ),
    "outcomes": (
        Run.outcomes,
        "what came of calls that change something, in recordings and in written ones",
    ),
    "judge": (
        Run.judge,
        (
            "summaries: what has no source, cuts without a mark, joins across lines, what was "
            "undone or done and is told as done or open, noise"
        ),
    ),
    "needs": (Run.needs, "what the next step needs, by lists in the folder readings of --data"),
    "lines": (
        Run.lines,
        "lines that a question asks for, in logs and tables of 1,000 to 200,000 lines",
    ),
    "chats": (
        Run.chats,
        "what was said once in long chats with an assistant, asked for at their end",
    ),
    "extracts": (
        Run.extracts,
        "summaries of a few turns: commands in tool results, sources that fit, tokens of records",
    ),
    "dead-ends": (
        Run.dead_ends,
        "sessions that cannot go on, over random tool loops and all recordings",
    ),
    "peers": (Run.peer, "another library over the same probes"),
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parts = "\n".join(f"  {name:12} {told}" for name, (_, told) in PARTS.items())
    made = argparse.ArgumentParser(
        prog="just bench retention",
        description=(
            "Measure what is left of recorded conversations where it is needed. docs/retention.md "
            "tells what each column means."
        ),
        epilog=f"parts:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "parts", nargs="*", metavar="PART", help="what to measure, see below; 'all' for everything"
    )
    made.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="FOLDER",
        help="where the recordings stand (default: shared/data beside the project)",
    )
    made.add_argument(
        "--set",
        action="append",
        choices=SETS,
        help="a set of recordings, may be given several times (default: all)",
    )
    made.add_argument(
        "--half",
        choices=HALVES,
        default="tuning",
        help="which conversations; unseen is for reports only (default: tuning)",
    )
    made.add_argument(
        "--sample", type=_count, metavar="N", help="at most N probes of each set, chosen by hash"
    )
    made.add_argument(
        "--budgets",
        type=_percent,
        nargs="+",
        default=[10, 25, 50],
        metavar="PERCENT",
        help="shares of the tokens (default: 10 25 50)",
    )
    made.add_argument(
        "--method",
        action="append",
        choices=METHODS,
        help="a method, may be given several times (default: project)",
    )
    made.add_argument(
        "--all-methods", action="store_true", help="the library and all that is measured beside it"
    )
    made.add_argument(
        "--no-gates",
        action="store_true",
        help="leave out the gates that ask a method again (three times faster)",
    )
    pairs = " ".join(map(str, (Way(*pair) for pair in PAIRS)))
    made.add_argument(
        "--thresholds",
        type=_pairs,
        metavar="HIGH/LOW,...",
        help=f"pairs for sessions, or 'all' for {pairs} (default: {Way(*PAIRS[0])})",
    )
    made.add_argument(
        "--projector",
        type=_projector,
        default=ContextProjector,
        metavar="MODULE:NAME",
        help="what makes the sessions' projector (default: the library's)",
    )
    made.add_argument(
        "--window",
        type=_count,
        default=8_000,
        metavar="TOKENS",
        help="of the long sessions (default: 8000)",
    )
    made.add_argument(
        "--turns",
        type=_count,
        default=TURNS,
        metavar="N",
        help=f"how long cycles grow (default: {TURNS})",
    )
    made.add_argument(
        "--loops",
        type=_count,
        default=LOOPS,
        metavar="N",
        help=f"how many random loops (default: {LOOPS})",
    )
    made.add_argument(
        "--summaries",
        type=_count,
        default=SUMMARIES,
        metavar="N",
        help=f"how many to judge (default: {SUMMARIES})",
    )
    made.add_argument(
        "--lines",
        type=_count,
        default=logs.LINES[-1],
        metavar="N",
        help=f"of the longest log (default: {logs.LINES[-1]})",
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    made.add_argument(
        "--against", type=Path, metavar="FILE", help="print what differs from the results in FILE"
    )
    made.add_argument("--quiet", action="store_true", help="no progress")
    return made


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _percent(text: str) -> float:
    number = float(text)
    if not 0 < number <= 100:  # noqa: PLR2004 - per cent
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most 100")
    return number


def _pairs(text: str) -> tuple[tuple[float, float], ...]:
    if text == "all":
        return PAIRS
    try:
        return tuple(
            (float(high), float(low)) for high, low in (pair.split("/") for pair in text.split(","))
        )
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of pairs such as .7/.4,.97/.8"
        ) from None


def _projector(text: str) -> Callable[[], ContextProjector]:
    module, _, name = text.partition(":")
    try:
        made: Callable[[], ContextProjector] = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} names nothing that can be called: {error}"
        ) from None
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 2 if the recordings are missing or a part is unknown."""
    asked = parser().parse_args(arguments)
    parts = list(PARTS) if "all" in asked.parts else asked.parts or ["projections"]
    if unknown := [part for part in parts if part not in PARTS]:
        print(
            f"retention: unknown part {unknown[0]!r}. Use all, {', '.join(PARTS)}.",
            file=sys.stderr,
        )
        return 2
    if not asked.data.is_dir():
        needed = (
            "the recorded conversations, which stand in shared/data beside the project's folder"
        )
        print(f"retention needs {needed}; {asked.data} is not there", file=sys.stderr)
        return 2
    console = Console(width=WIDTH)
    with progress(quiet=asked.quiet) as tell:
        run = Run(asked, console, tell)
        results = {part: PARTS[part][0](run) for part in parts}
    _keep(asked, console, results)
    return 0


def _keep(asked: argparse.Namespace, console: Console, results: dict[str, Any]) -> None:
    results = json.loads(json.dumps(results))
    if asked.against:
        for path, old, new in report.differences(
            results, json.loads(asked.against.read_text(encoding="utf-8"))
        ):
            console.print(f"{path}: {old:.4g} -> {new:.4g} ({new - old:+.4g})")
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
