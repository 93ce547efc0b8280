"""Measure how much of what an agent needs next survives a summary, against two baselines.

A probe is a place in a recorded conversation with its needles: identifiers that occurred before it
and that the agent used in its very next call. *Bound recall* is the share of needles of which some
earlier occurrence is still there together with the 20 characters to its left, white space
normalised: the identifier and its meaning. *Plain recall* requires the identifier only.

The recordings are read from ``shared/data`` beside the project's folder.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time

from attrs import define, frozen
from rich.console import Console
from rich.table import Table

from polycontext.pressure import ExtractiveSummariser
from polycontext.window import Role, TiktokenCounter, TokenCounter, Turn
from polycontext.window.providers import get_format

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
RECORDINGS = ("tau_airline_gpt4o", "swebench_mini")
SHARES = (0.10, 0.25, 0.50)
EVERY = 4
"""The step between probes that a run uses: every fourth."""

BOUND_CHARS = 20
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?。！？])\s*")

Method = Callable[[Sequence[Turn], int, TokenCounter], str]


@frozen
class Probe:
    """The turns before a probe, their tokens, and for each needle the texts that bind it."""

    turns: tuple[Turn, ...]
    tokens: int
    bindings: dict[str, frozenset[str]]


@define
class Score:
    """The totals of one method over many probes."""

    needles: int = 0
    bound: int = 0
    plain: int = 0
    seconds: float = 0.0
    tokens: int = 0

    def add(self, probe: Probe, share: float, method: Method, counter: TokenCounter) -> None:
        """Summarise `probe` at `share` of its tokens and count the needles that survive."""
        began = process_time()
        summary = method(probe.turns, int(probe.tokens * share), counter)
        self.seconds += process_time() - began
        self.tokens += probe.tokens
        flat = _flat(summary)
        self.needles += len(probe.bindings)
        self.plain += sum(needle in flat for needle in probe.bindings)
        self.bound += sum(any(text in flat for text in texts) for texts in probe.bindings.values())


def _flat(text: str) -> str:
    return " ".join(text.split())


def _texts(turn: Turn) -> list[str]:
    return [turn.text, *(call.arguments for call in turn.tool_calls)]


def _printed(turn: Turn) -> str:
    calls = [f"{call.name}({call.arguments})" for call in turn.tool_calls]
    return f"{turn.role}: " + " ".join(filter(None, [turn.text, *calls]))


def _bindings(needle: str, texts: Sequence[str]) -> frozenset[str]:
    found = (match for text in texts for match in re.finditer(re.escape(needle), text))
    return frozenset(
        match.string[max(0, match.start() - BOUND_CHARS) : match.end()] for match in found
    )


def probes(recording: str, every: int, counter: TokenCounter) -> Iterator[Probe]:
    """Yield every n-th probe of `recording`.

    System messages are left out, because they are never summarised.
    """
    number = 0
    for line in (DATA / f"{recording}.jsonl").read_text(encoding="utf-8").splitlines():
        conversation = json.loads(line)
        turns = get_format("openai").parse(conversation["messages"]).turns
        for record in conversation["probes"]:
            number += 1
            if number % every == 0:
                yield _probe(
                    record,
                    [turn for turn in turns[: record["at"]] if turn.role is not Role.SYSTEM],
                    counter,
                )


def _probe(record: dict[str, list[str]], turns: Sequence[Turn], counter: TokenCounter) -> Probe:
    texts = [_flat(text) for turn in turns for text in _texts(turn)]
    bindings = {needle: _bindings(needle, texts) for needle in record["needles"]}
    tokens = sum(counter.count(_printed(turn)) for turn in turns)
    return Probe(
        tuple(turns), tokens, {needle: bound for needle, bound in bindings.items() if bound}
    )


def tail(turns: Sequence[Turn], max_tokens: int, counter: TokenCounter) -> str:
    """Keep the end of the conversation, cut at a character."""
    text = "\n".join(_printed(turn) for turn in turns)
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        if counter.count(text[middle:]) > max_tokens:
            low = middle + 1
        else:
            high = middle
    return text[low:]


def longest_first(turns: Sequence[Turn], max_tokens: int, counter: TokenCounter) -> str:
    """Keep the longest sentences, in the order of the conversation."""
    sentences = [
        sentence for turn in turns for sentence in _SENTENCE_END.split(_printed(turn)) if sentence
    ]
    kept: list[int] = []
    for index in sorted(range(len(sentences)), key=lambda index: -len(sentences[index])):
        cost = counter.count(sentences[index]) + 1
        if cost <= max_tokens:
            kept.append(index)
            max_tokens -= cost
    return "\n".join(sentences[index] for index in sorted(kept))


def extractive(turns: Sequence[Turn], max_tokens: int, counter: TokenCounter) -> str:
    """Summarise with the extractive summariser, which is the one under test."""
    return ExtractiveSummariser().summarise(turns, max_tokens, counter=counter)


METHODS: dict[str, Method] = {
    "tail": tail,
    "longest sentences first": longest_first,
    "extractive summariser": extractive,
}


def measure(recording: str, every: int, counter: TokenCounter) -> dict[tuple[str, float], Score]:
    """Return the score of each method at each share of the tokens."""
    scores = {(name, share): Score() for name in METHODS for share in SHARES}
    for probe in probes(recording, every, counter):
        for (name, share), score in scores.items():
            score.add(probe, share, METHODS[name], counter)
    return scores


def _table(recording: str, scores: dict[tuple[str, float], Score]) -> Table:
    needles = next(iter(scores.values())).needles
    table = Table(title=f"{recording}: needles kept, % bound / % plain ({needles} needles)")
    table.add_column("method")
    for share in SHARES:
        table.add_column(f"{share:.0%} of tokens", justify="right")
    table.add_column("ms per 1k tokens", justify="right")
    for name in METHODS:
        row = [scores[name, share] for share in SHARES]
        cells = [
            f"{score.bound / score.needles:.1%} / {score.plain / score.needles:.1%}"
            for score in row
        ]
        milliseconds = (
            sum(score.seconds for score in row) / sum(score.tokens for score in row) * 1e6
        )
        table.add_row(name, *cells, f"{milliseconds:.1f}")
    return table


def run(console: Console, every: int = EVERY) -> None:
    """Print the recall of the summariser and its baselines at 10, 25 and 50 % of the tokens."""
    if not DATA.is_dir():
        console.print(
            "summariser_quality: skipped, the recorded conversations (shared/data beside the "
            "project's folder) are not there"
        )
        return
    counter = TiktokenCounter()
    for recording in RECORDINGS:
        scores = measure(recording, every, counter)
        console.print(_table(recording, scores))


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark: ``python -m benchmarks.summariser_quality [EVERY]``; 1 uses all probes."""
    if not DATA.is_dir():
        print(
            (
                "summariser_quality needs the recorded conversations in shared/data beside the "
                "project's folder"
            ),
            file=sys.stderr,
        )
        return 2
    run(Console(width=150), *map(int, arguments[:1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
