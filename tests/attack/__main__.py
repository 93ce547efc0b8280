"""Feed hostile texts to everything that reads external input, and print the cost per megabyte.

Exit code 1 if a cost is over the bound. With the argument `server`, attack a server instead.

Each text is read in a process of its own, whose peak resident size measures the memory.
If a small text shows a cost far over the bound, the full size is not tried.
"""

import argparse
import json
import math
import os
import resource
import sys
import time
import traceback
from pathlib import Path

from attrs import frozen

from tests.attack import server
from tests.attack.hostile import KINDS, hostile_text
from tests.attack.readers import READERS, SMALL, Reader

MOST_SECONDS, MOST_MEGABYTES = 1.0, 300.0
"""The most that reading one megabyte may cost."""
MOST_OF_SMALL = 0.004 * 1_000_000 / SMALL
"""The most seconds of a megabyte of small messages: 4 ms a message."""

FULL, PROBE, SHORT = 1_000_000, 20_000, 50_000
_MEMORY = 6_000_000_000
_GENEROUS = 30
"""Factor on the bound in the short form, which finds quadratic costs on busy machines too."""


@frozen
class Cost:
    """The cost of reading one text: CPU seconds, and peak memory in megabytes."""

    seconds: float
    megabytes: float


_NO_ANSWER = Cost(math.inf, math.inf)


def _attacked(read: Reader, kind: str, most: int) -> Cost:
    """Return the cost of `kind` per megabyte, measured on a text of `most` characters.

    A text far over the bound is measured at a smaller size.
    """
    size = (
        PROBE
        if _seconds(read, hostile_text(kind, PROBE)) > 20 * MOST_SECONDS * PROBE / FULL
        else most
    )
    text, before = hostile_text(kind, size), _peak()
    seconds = _seconds(read, text)
    if seconds > MOST_SECONDS * size / FULL:
        seconds = min(seconds, _seconds(read, text))
    return Cost(seconds * FULL / size, (_peak() - before) * FULL / size)


def _seconds(read: Reader, text: str) -> float:
    start = time.thread_time()
    read(text)
    return time.thread_time() - start


def _peak() -> float:
    """Return the peak resident megabytes of this process; a fork starts at its parent's peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )


def _apart(read: Reader, kind: str, most: int) -> Cost:
    """Return the result of `_attacked` in a process of its own.

    A process that dies without an answer costs more than any bound.
    """
    hears, says = os.pipe()
    if child := os.fork():
        os.close(says)
        answer = Path(f"/dev/fd/{hears}").read_bytes()
        os.close(hears)
        os.waitpid(child, 0)
        return Cost(*json.loads(answer)) if answer else _NO_ANSWER
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        cost = _attacked(read, kind, most)
        os.write(says, json.dumps([cost.seconds, cost.megabytes]).encode())
    except BaseException:  # noqa: BLE001 - it is told, and the parent hears no answer
        traceback.print_exc()
    finally:
        os._exit(0)


def main() -> int:
    """Run the attacks and return how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["texts", "server"], default="texts", nargs="?")
    parser.add_argument(
        "--short",
        action="store_true",
        help="a twentieth of the size, and a quarter of the kinds: a minute",
    )
    parser.add_argument(
        "--only", choices=READERS, action="append", help="one reader; may be given again"
    )
    asked = parser.parse_args()
    if asked.what == "server":
        return server.main()
    over, slack = 0, _GENEROUS if asked.short else 1
    print(f"{'reader':20} {'kind':26} {'CPU s/MB':>9} {'MB/MB':>7}")
    for number, name in enumerate(asked.only or READERS):
        read = READERS[name]
        read(hostile_text("prohibitions", PROBE))  # the parent loads what is loaded once
        # In the short form every fourth kind, other ones for the next reader.
        kinds = [*KINDS][number % 4 :: 4] if asked.short else [*KINDS]
        costs = {kind: _apart(read, kind, SHORT if asked.short else FULL) for kind in kinds}
        for kind, cost in costs.items():
            # What so small a text holds is less than what a process takes in steps.
            most = MOST_OF_SMALL if name == "extend" else MOST_SECONDS
            is_over = cost.seconds > slack * most or (
                not asked.short and cost.megabytes > MOST_MEGABYTES
            )
            over += is_over
            if is_over or not asked.short:
                print(
                    (
                        f"{name:20} {kind:26} {cost.seconds:9.2f} "
                        f"{cost.megabytes:7.0f}{'  over' if is_over else ''}"
                    ),
                    flush=True,
                )
        slowest = sorted(costs, key=lambda kind: -costs[kind].seconds)[:3]
        megabytes = max(cost.megabytes for cost in costs.values())
        print(
            (
                f"{name:20} worst: "
                f"{', '.join(f'{kind} {costs[kind].seconds:.2f} s' for kind in slowest)}; "
                f"{megabytes:.0f} MB"
            ),
            flush=True,
        )
    measured = "" if asked.short else f" or {MOST_MEGABYTES:.0f} MB"
    print(
        f"{over} over {slack * MOST_SECONDS:.0f} s{measured} a megabyte; the bound is "
        f"{MOST_SECONDS:.0f} s and {MOST_MEGABYTES:.0f} MB"
    )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
