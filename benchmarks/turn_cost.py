"""Measure one more turn at 100 to 100,000 turns: add it, read messages and pressure."""

import gc
from collections.abc import Callable, Sequence
from statistics import mean
from time import process_time

from rich.console import Console
from rich.table import Table

from benchmarks.conversation import InstantSummariser, RememberingCounter, turns
from polycontext.polynomial import ContextSession
from polycontext.pressure import ContextProjector, Summariser
from polycontext.window import REQUEST_OVERHEAD, TokenCounter, Turn, count_turn

SIZES = (100, 1_000, 10_000, 100_000)
BUDGET = 8_000
SAMPLE = 1_000

Driver = Callable[[Turn], object]


class KeptSuffix:
    """A practical lower limit: a suffix kept with hysteresis over cached counts.

    It has no pairing, ledger, summary or journal; a developer could write it in twenty lines.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.kept: list[tuple[dict[str, object], int]] = []
        self.tokens = 0

    def add(self, turn: Turn) -> tuple[list[dict[str, object]], float]:
        """Add a turn; return the messages for the model, and the pressure."""
        tokens = count_turn(self.counter, turn)
        self.kept.append(({"role": turn.role.value, "content": turn.content}, tokens))
        self.tokens += tokens
        if self.tokens > 0.7 * BUDGET:
            self._cut()
        return [message for message, _ in self.kept], (self.tokens + REQUEST_OVERHEAD) / BUDGET

    def _cut(self) -> None:
        start = 0
        while self.tokens > 0.4 * BUDGET:
            self.tokens -= self.kept[start][1]
            start += 1
        del self.kept[:start]


def _suffix(counter: TokenCounter) -> Driver:
    return KeptSuffix(counter).add


def _session(engine: str, summariser: Summariser | None = None) -> Callable[[TokenCounter], Driver]:
    def start(counter: TokenCounter) -> Driver:
        projector = ContextProjector(summariser) if summariser else ContextProjector()
        session = ContextSession(BUDGET, counter=counter, projector=projector)
        if engine == "machine":
            _ = session.machine

        def drive(turn: Turn) -> object:
            session.add(turn)
            return session.messages(allow_open=True), session.pressure

        return drive

    return start


SUBJECTS: dict[str, Callable[[TokenCounter], Driver]] = {
    "kept suffix (reference)": _suffix,
    "session, summaries supplied": _session("table", InstantSummariser()),
    "session, extractive": _session("table"),
    "with a live machine, summaries supplied": _session("machine", InstantSummariser()),
}


def measure(
    start: Callable[[TokenCounter], Driver],
    counter: TokenCounter,
    conversation: Sequence[Turn],
    sizes: Sequence[int] = SIZES,
) -> dict[int, list[float]]:
    """Return the seconds of the SAMPLE turns that follow the first n, for every n of `sizes`.

    Compressions are included.
    """
    drive = start(counter)
    found: dict[int, list[float]] = {}
    done = 0
    for size in sizes:
        for turn in conversation[done:size]:
            drive(turn)
        # An occasional full collection would walk the benchmark's own conversation too, which is
        # not a turn's cost.
        gc.collect()
        gc.freeze()
        found[size] = [_seconds(drive, turn) for turn in conversation[size : size + SAMPLE]]
        done = size + SAMPLE
    return found


def _seconds(drive: Driver, turn: Turn) -> float:
    began = process_time()
    drive(turn)
    return process_time() - began


def run(console: Console) -> None:
    """Print microseconds per turn and ratios for every subject."""
    conversation = list(turns(SIZES[-1] + SAMPLE))
    counter = RememberingCounter()
    began = process_time()
    for turn in conversation:
        count_turn(counter, turn)
    tokenizing = (process_time() - began) / len(conversation)
    table = Table(
        title=(
            f"one more turn: add, read messages and pressure ({BUDGET} token budget), µs without "
            "tokenizing"
        )
    )
    for name in (
        "subject",
        *(f"{size:,}" for size in SIZES),
        "100,000 / 100",
        "x reference",
        "x with tokenizing",
    ):
        table.add_column(name, justify="left" if name == "subject" else "right")
    reference = 0.0
    for name, start in SUBJECTS.items():
        costs = {size: mean(each) for size, each in measure(start, counter, conversation).items()}
        average = mean(costs.values())
        reference = reference or average
        ratios = (
            costs[SIZES[-1]] / costs[SIZES[0]],
            average / reference,
            (average + tokenizing) / (reference + tokenizing),
        )
        table.add_row(
            name,
            *(f"{costs[size] * 1e6:.1f}" for size in SIZES),
            *(f"{ratio:.2f}" for ratio in ratios),
        )
    console.print(table)
    console.print(
        f"tokenizing and framing itself: {tokenizing * 1e6:.1f} µs a turn; budget: 100,000 / 100 "
        "within 1.5"
    )


if __name__ == "__main__":
    run(Console(width=150))
