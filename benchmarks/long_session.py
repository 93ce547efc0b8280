"""Measure one very long durable session: cost of a turn, memory, opening, search, valid views.

Usage: just bench long_session [--turns 400000] [--file PATH] [--line]

A turn has about 200 tokens. The session is a SQLite file; if the file exists, it is continued. The
first request is judged as its providers would at every 1,000th turn. With `--line`, each summary is
one line, so that what the rest costs is measured, and 400,000 turns take minutes.
"""

import argparse
import json
import math
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import linear_regression, mean
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from polycontext import ContextSession, Turn
from polycontext.pressure import ContextProjector
from polycontext.window import ToolCall
from polycontext.window.providers import check

BUDGET = 8_000
SAMPLE = 1_000
SHORTEST = 20
_TOPICS = ("invoice", "parcel", "booking", "refund", "schedule", "contract", "sensor", "recipe")


def turns(start: int) -> Iterator[Turn]:
    """Yield the turns of an agent's conversation from `start`, which is a multiple of 4."""
    number = start // 4
    while True:
        topic, call = _TOPICS[number % len(_TOPICS)], f"call_{number}"
        yield Turn("user", f"Look into {topic} {number} of desk {number * 7 % 91} for me, please.")
        arguments = json.dumps({topic: number, "fields": ["status", "owner", "items"]})
        yield Turn("assistant", None, tool_calls=(ToolCall(call, "look_up", arguments),))
        items = [
            {
                "position": n,
                "name": f"part {(number * 31 + n * 17) % 9973}",
                "price": number % 97 + n,
            }
            for n in range(26)
        ]
        result = {
            topic: number,
            "status": "open",
            "owner": f"desk {number * 7 % 91}",
            "items": items,
        }
        yield Turn("tool", json.dumps(result), tool_call_id=call)
        steps = " ".join(
            f"Position {n} is part {(number * 31 + n * 17) % 9973}, which the depot has."
            for n in range(9)
        )
        yield Turn("assistant", f"The {topic} {number} is open. {steps} Shall I order them?")
        number += 1


def judge(session: ContextSession) -> int:
    """Return how many of two providers refuse the view: 0 if it is valid for both."""
    refused = 0
    for provider in ("openai", "anthropic"):
        request = session.request(provider, allow_open=True)
        try:
            check(request.messages, provider, allow_open_tail=True)
        except ValueError as error:
            print(error)
            refused += 1
    return refused + (session.window.total_tokens > BUDGET)


def memory() -> int:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def one_line(turns: Sequence[Turn], max_tokens: int) -> str:
    """Return a summary that takes no time."""
    return f"{len(turns)} messages about orders." if max_tokens > SHORTEST else ""


def drive(file: Path, last: int, projector: ContextProjector | None = None) -> dict[str, Any]:
    """Bring a session to `last` turns; return seconds of CPU a turn in each sample, and faults."""
    rows, invalid, judged = list[tuple[int, float]](), 0, 0
    with ContextSession.open(file, "long", max_tokens=BUDGET, projector=projector) as session:
        done = len(session.log())
        coming = turns(done)
        while done < last:
            began, wall = process_time(), perf_counter()
            for _ in range(min(SAMPLE, last - done)):
                turn = next(coming)
                session.add(turn)
                session.messages(allow_open=True)
            spent = (process_time() - began) / SAMPLE
            done += SAMPLE
            invalid, judged = invalid + judge(session), judged + 1
            rows.append((done, spent))
            if done % (10 * SAMPLE) == 0:
                took = (perf_counter() - wall) / SAMPLE * 1e3
                print(
                    f"{done:>9,} turns  {spent * 1e3:.2f} ms CPU a turn  {took:.2f} ms in all  "
                    f"{memory():,} MB  exponent {exponent(rows):+.3f}  "
                    f"{invalid} invalid of {judged}",
                    flush=True,
                )
    return {"rows": rows, "invalid": invalid, "judged": judged}


def exponent(rows: Sequence[tuple[int, float]]) -> float:
    """Return the slope of log cost over log turns, over the means of doubling ranges.

    >>> round(exponent([(n, 0.5 * n) for n in range(1000, 64000, 1000)]), 2)
    1.0
    """
    last, points = rows[-1][0], list[tuple[float, float]]()
    while last > rows[0][0]:
        costs = [(turn, cost) for turn, cost in rows if last / 2 < turn <= last]
        if costs:
            points.append(
                (math.log(mean(t for t, _ in costs)), math.log(mean(c for _, c in costs)))
            )
        last //= 2
    return linear_regression(*zip(*points, strict=True)).slope


def reopened(file: Path) -> dict[str, float]:
    """Return the seconds to open the session, and of a search in it, the slowest of ten."""
    began = perf_counter(), process_time()
    with ContextSession.open(file, "long", max_tokens=BUDGET) as session:
        session.messages(allow_open=True)
        opened = perf_counter() - began[0], process_time() - began[1]
        turns_held = len(session.log())
        words = [f"part {number}" for number in range(17, 9973, 997)]
        session.history.search("depot")
        searches = []
        for text in words:
            moment = process_time()
            session.history.search(text)
            searches.append(process_time() - moment)
    return {
        "turns": turns_held,
        "open": opened[0],
        "open_cpu": opened[1],
        "search": max(searches),
        "memory": memory(),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=400_000)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--line", action="store_true", help="write summaries of one line")
    parser.add_argument("--reopen", action="store_true", help="only open the file and search in it")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        file = asked.file or Path(folder, "long.db")
        if not asked.reopen:
            projector = ContextProjector(one_line) if asked.line else None
            found = drive(file, asked.turns, projector=projector)
            print(f"exponent of the cost of a turn: {exponent(found['rows']):+.3f}")
            print(f"invalid views: {found['invalid']} of {found['judged']}")
            print(f"memory at most: {memory():,} MB; file: {file.stat().st_size / 1e6:,.0f} MB")
        told = reopened(file)
        print(
            f"opened {told['turns']:,} turns in {told['open']:.2f} s "
            f"({told['open_cpu']:.2f} s CPU), search at most {told['search'] * 1e3:.0f} ms CPU, "
            f"{told['memory']:,} MB"
        )


if __name__ == "__main__":
    main()
