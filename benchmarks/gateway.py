"""Measure what compressing rows saves recorded agents, and what their next calls still see.

Each request of a recording is sent with and without `RequestCompressor`, to a provider that caches
the prefix of rows that is equal to that of the request before (from 1,024 tokens on). `direct`
means that all rows are compressed; `withheld` that the last message of the user and the last
exchange are compressed only from the next request on, as LiteLLM does it.

A value that the next call uses is in view if it stands in the line or the record in which it stood.
Otherwise it can be found if its row has a hash and the excerpt shows a part of its name, or another
name of its line.
"""

import json
import re
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define
from rich.console import Console
from rich.table import Table

from benchmarks.retention.recordings import DATA, Conversation, counter, message_tokens, recorded
from polycontext.cost import cost_of, prices_of
from polycontext.cost.reports import Tokens
from polycontext.server.rows import RequestCompressor

CACHED_FROM = 1_024
"""The fewest tokens of a prefix that providers cache."""

MODELS = ("claude-sonnet-4-5", "gpt-5")
SETS = ("tau", "swe")

_PART = re.compile(r"[A-Za-z0-9]{3,}")
_TIMES = re.compile(r" … ×[\d,]+$")

Row = dict[str, Any]


@define
class Figures:
    """Tokens, costs and values over the requests of recordings, `plain` without compressing."""

    requests: int = 0
    plain_tokens: int = 0
    tokens: int = 0
    plain_cost: float = 0.0
    cost: float = 0.0
    dearer: int = 0
    dearer_conversations: int = 0
    broken: int = 0
    values: int = 0
    seen: int = 0
    found: int = 0


def requests_of(conversation: Conversation) -> Iterator[list[Row]]:
    """Yield the rows of each request: those before an answer of the model."""
    rows = [{**row} for row in conversation.messages]
    for place, row in enumerate(rows):
        if row["role"] == "assistant" and place:
            yield rows[:place]


def compressed(compressor: RequestCompressor, rows: list[Row], *, withholds: bool) -> list[Row]:
    """Return the rows that are sent to the model."""
    if not withholds:
        return [{**row} for row in compressor.compress(rows).rows]
    last = {role: place for place, row in enumerate(rows) for role in [row["role"]]}
    asked = last.get("assistant", -1)
    places = [
        place
        for place, row in enumerate(rows)
        if row["role"] not in ("system", "assistant")
        and place != last.get("user")
        and not (row["role"] == "tool" and place > asked)
    ]
    sent = compressor.compress([rows[place] for place in places]).rows
    changed = dict(zip(places, sent, strict=True))
    return [{**changed.get(place, row)} for place, row in enumerate(rows)]


def spent(before: Sequence[Row], now: Sequence[Row], model: str) -> float:
    """Return the price of a request after another one, in dollars."""
    shared = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        shared += message_tokens(new)
    read = shared if shared >= CACHED_FROM else 0
    written = sum(map(message_tokens, now)) - read
    return cost_of(Tokens(read=read, written=written), prices_of(model))


def is_seen(value: str, rows: Sequence[Row], sent: Sequence[Row]) -> bool:
    """Return whether a value stands in the line or the record in which it stood."""
    return any(map(partial(_stands, value), rows, sent))


def is_found(value: str, rows: Sequence[Row], sent: Sequence[Row]) -> bool:
    """Return whether an excerpt with a hash suggests that it has the value."""
    for row, new in zip(rows, sent, strict=True):
        text, told = _text(row), _text(new)
        if value in text and "hash=" in told:
            lines = [line for line in text.split("\n") if value in line]
            names = {*_PART.findall(value), *_PART.findall(" ".join(lines)[:400])}
            if any(name in told for name in names):
                return True
    return False


def _stands(value: str, row: Row, new: Row) -> bool:
    text, told = _text(row), _text(new)
    if value not in text or value not in told:
        return False
    if text.lstrip()[:1] in ("{", "["):  # the excerpt has whole records
        return True
    lines = {" ".join(line.split()) for line in text.split("\n") if value in line}
    return text == told or any(
        " ".join(_TIMES.sub("", line).split()) in lines for line in told.split("\n")
    )


def _text(row: Row) -> str:
    calls = row.get("tool_calls")
    return f"{row.get('content') or ''}{json.dumps(calls) if calls else ''}"


def measure(conversations: Sequence[Conversation], model: str, *, withholds: bool) -> Figures:
    """Return the figures of recordings."""
    figures, compressor = Figures(), RequestCompressor(counter())
    for conversation in conversations:
        before, plain_before = list[Row](), list[Row]()
        cost = plain_cost = 0.0
        probes = {probe.at: probe.needles for probe in conversation.probes}
        for rows in requests_of(conversation):
            sent = compressed(compressor, rows, withholds=withholds)
            one, plain = spent(before, sent, model), spent(plain_before, rows, model)
            figures.requests += 1
            figures.dearer += one > plain + 1e-12
            figures.broken += sent[: len(before)] != before
            figures.tokens += sum(map(message_tokens, sent))
            figures.plain_tokens += sum(map(message_tokens, rows))
            cost, plain_cost = cost + one, plain_cost + plain
            before, plain_before = sent, rows
            for value in probes.get(len(rows), ()):
                figures.values += 1
                seen = is_seen(value, rows, sent)
                figures.seen += seen
                figures.found += seen or is_found(value, rows, sent)
        figures.cost += cost
        figures.plain_cost += plain_cost
        figures.dearer_conversations += cost > plain_cost + 1e-12
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each set of recordings, way and model."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the recordings")
    parser.add_argument("--half", default="unseen", help="tuning, unseen or all")
    options = parser.parse_args(arguments)
    table = Table(
        *("set", "rows", "model", "requests", "tokens", "cost", "dearer requests"),
        *("dearer conversations", "broken prefixes", "values in view", "or found"),
    )
    for name in SETS:
        conversations = [*recorded(name, options.half, options.data)]
        for withholds in (False, True):
            for model in MODELS:
                told = measure(conversations, model, withholds=withholds)
                table.add_row(
                    name,
                    "withheld" if withholds else "direct",
                    model,
                    f"{told.requests:,}",
                    f"{told.tokens / told.plain_tokens:.1%}",
                    f"{told.cost / told.plain_cost:.1%}",
                    f"{told.dearer:,}",
                    f"{told.dearer_conversations} of {len(conversations)}",
                    f"{told.broken:,}",
                    f"{told.seen / max(1, told.values):.3f}",
                    f"{told.found / max(1, told.values):.3f}",
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
