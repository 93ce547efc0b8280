"""Measure the cost of a turn early and late, against a kept suffix and another library."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log
from statistics import mean, median
from time import process_time
from typing import Any

from benchmarks.budget.row import Found, Row, Scale
from benchmarks.conversation import InstantSummariser, RememberingCounter, turns
from benchmarks.retention.methods import Asked
from benchmarks.retention.peers import PEER, is_installed, trimmed
from polycontext.polynomial import ContextSession
from polycontext.pressure import ContextProjector, Summariser
from polycontext.window import REQUEST_OVERHEAD, TokenCounter, Turn, count_turn
from polycontext.window.providers import get_format

BUDGET = 8_000
SAMPLE = 1_000
DRIVEN = 10_000
LOOKS = 12
"""The number of lengths at which the peer is timed; its time is interpolated between them."""

Costs = Mapping[int, Sequence[float]]
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


_SUBJECTS: dict[str, Callable[[TokenCounter], Driver]] = {
    "kept suffix (reference)": _suffix,
    "session, summaries supplied": _session("table", InstantSummariser()),
    "session, extractive": _session("table"),
    "with a live machine, summaries supplied": _session("machine", InstantSummariser()),
}


def _measured(
    start: Callable[[TokenCounter], Driver],
    counter: TokenCounter,
    conversation: Sequence[Turn],
    sizes: Sequence[int],
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
        found[size] = [_turn_seconds(drive, turn) for turn in conversation[size : size + SAMPLE]]
        done = size + SAMPLE
    return found


def turn_rows(scale: Scale) -> Iterator[Row]:
    """Yield the rows on adding a turn and reading messages and pressure."""
    sizes = tuple(size for size in (100, 1_000, 10_000, 100_000) if size <= scale.turns)
    conversation = list(turns(sizes[-1] + SAMPLE))
    counter = RememberingCounter()
    counter.count("the vocabulary is loaded once")
    began = process_time()
    for turn in conversation:
        count_turn(counter, turn)
    tokenizing = (process_time() - began) / len(conversation)
    costs: dict[str, Costs] = {}
    for name, start in _SUBJECTS.items():
        scale.tell(f"turns: {name}, to {sizes[-1]:,}")
        costs[name] = _measured(start, counter, conversation, sizes)
    reference, supplied, _, live = costs.values()
    far = f"at {sizes[0]:,} to {sizes[-1]:,} turns; tokenizing {tokenizing * 1e6:.0f} µs a turn"
    yield Row(
        "add a turn + read messages and pressure",
        (Found("growth exponent, median", abs(exponent(supplied)), 0.05),),
        (far,),
    )
    yield Row(
        "the same, median, tokenizing included, beside a suffix kept with hysteresis",
        (
            Found("session", _ratio(supplied, reference, tokenizing), 1.5, " x"),
            Found("with a live machine", _ratio(live, reference, tokenizing), 8, " x"),
        ),
        ("shared messages: not measured, a session hands out lists of its reader's own",),
    )
    worst = {
        name: max(mean(each[size]) / mean(reference[size]) for size in sizes)
        for name, each in costs.items()
    }
    names = list(costs)
    yield Row(
        "the same, mean, with compressions, at the worst length",
        (
            Found("extractive", worst[names[2]], 15, " x"),
            Found("summaries supplied", worst[names[1]], 5, " x"),
        ),
        tuple(f"{name}: {_listed(each)}" for name, each in costs.items()),
    )


def _turn_seconds(drive: Driver, turn: Turn) -> float:
    began = process_time()
    drive(turn)
    return process_time() - began


def exponent(costs: Costs) -> float:
    """Return the slope of log(median cost) over log(length), by least squares.

    >>> (
    ...     round(exponent({1: [1.0], 10: [1.0], 100: [1.0]}), 3),
    ...     round(exponent({1: [1.0], 10: [10.0], 100: [100.0]}), 3),
    ... )
    (0.0, 1.0)
    """
    points = [(log(size), log(median(each))) for size, each in costs.items()]
    x, y = mean(x for x, _ in points), mean(y for _, y in points)
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def _ratio(costs: Costs, reference: Costs, tokenizing: float) -> float:
    """Return the worst ratio of medians, tokenizing included."""
    return max(
        (median(costs[size]) + tokenizing) / (median(reference[size]) + tokenizing)
        for size in costs
    )


def _listed(costs: Costs) -> str:
    return ", ".join(
        f"{mean(each) * 1e6:,.0f} (median {median(each) * 1e6:.0f}) µs at {size:,}"
        for size, each in costs.items()
    )


def served_rows(scale: Scale) -> Iterator[Row]:
    """Yield how many turns a compression serves late in a long session compared with early."""
    session = ContextSession(BUDGET, counter=RememberingCounter())
    conversation = list(turns(scale.turns + SAMPLE))
    served: dict[int, float] = {}
    added = 0
    for start in (1_000, scale.turns):
        scale.tell(f"turns served, to {scale.turns:,}")
        for turn in conversation[added:start]:
            session.add(turn)
        before = session.window.epoch.number
        for turn in conversation[start : start + SAMPLE]:
            session.add(turn)
        added = start + SAMPLE
        served[start] = SAMPLE / max(1, session.window.epoch.number - before)
    told = ", ".join(f"{value:.1f} at {start:,}" for start, value in served.items())
    yield Row(
        "turns that a compression serves, 8k",
        (
            Found(
                f"at {scale.turns:,} against 1,000",
                served[scale.turns] / served[1_000],
                0.8,
                " x",
                most=False,
            ),
        ),
        (f"{told}; thresholds .7/.4",),
    )


def peer_rows(scale: Scale) -> Iterator[Row]:
    """Yield how much faster a session drives 10,000 turns than langchain-core trims the list."""
    work = (
        f"drive {DRIVEN:,} turns with compression at 8k budget, beside langchain-core "
        "`trim_messages`"
    )
    if not is_installed():
        yield Row(
            work,
            notes=(
                (
                    f"not measured: {PEER} is not installed; uv run --with {PEER} python -m "
                    "benchmarks.budget"
                ),
            ),
        )
        return
    conversation = list(turns(DRIVEN))
    scale.tell("driving a session")
    own = _driven(conversation)
    messages = get_format("openai").render(conversation).messages
    lengths = [DRIVEN * step // LOOKS for step in range(1, LOOKS + 1)]
    # Warm the token cache first: counting is excluded for the peer, as it is for the session.
    trimmed(Asked(messages, BUDGET))
    found: list[float] = []
    for length in lengths:
        scale.tell(f"{PEER}, {length:,} messages")
        found.append(_seconds(lambda length=length: trimmed(Asked(messages[:length], BUDGET))))
    theirs = mean(found) * DRIVEN
    told = (
        f"{own:.1f} s against {theirs:,.0f} s, timed at {LOOKS} lengths; all texts counted before"
    )
    yield Row(work, (Found("faster", theirs / own, 50, " x", most=False),), (told,))


def _driven(conversation: Sequence[Turn]) -> float:
    counter = RememberingCounter()
    for turn in conversation:
        count_turn(counter, turn)
    session = ContextSession(BUDGET, counter=counter)

    def drive() -> None:
        for turn in conversation:
            session.add(turn)
            session.messages(allow_open=True)

    return _seconds(drive)


def _seconds(work: Any) -> float:
    gc.collect()
    began = process_time()
    work()
    return process_time() - began
