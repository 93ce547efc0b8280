"""The law of what reads from outside: its cost is bounded, and grows with the text and no faster."""

import time
import tracemalloc
from collections.abc import Callable

from attrs import frozen

from polycontext.linearity.law import holds, law

_NOISE = 0.02
"""Seconds below which growth says nothing."""


@frozen
class Cost:
    """Hold what reading one text took: CPU seconds and megabytes at the peak."""

    seconds: float
    megabytes: float


def cost_of(read: Callable[[str], object], text: str, *, memory: bool = True) -> Cost:
    """Return what `read` takes for `text`: the time of this thread alone, and in a second reading the memory."""
    seconds = min(_seconds(read, text) for _ in range(2))
    if not memory:
        return Cost(seconds, 0.0)
    tracemalloc.start()
    try:
        read(text)
        return Cost(seconds, tracemalloc.get_traced_memory()[1] / 1e6)
    finally:
        tracemalloc.stop()


def _seconds(read: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    read(text)
    return time.thread_time() - start


@law('docs/laws.md, "Bounded cost"')
def reading_costs_in_proportion(reader: Callable[[str], object], hostile: Callable[[int], str], characters: int) -> None:
    """Reading four times as much costs at most eight times as much, and 1 MB at most 10 s of CPU time and 300 MB.

    The time allowed is ten times what is promised: the law must hold on a busy machine, `just attack` measures what is promised.
    """
    small, large = (cost_of(reader, hostile(size)) for size in (characters, 4 * characters))
    share = max(4 * characters / 1e6, 0.1)
    holds(large.seconds <= 8 * max(small.seconds, _NOISE), "at most 8 times as long", f"{small.seconds:.3f} s, then {large.seconds:.3f} s")
    holds(large.seconds <= 10 * share, f"at most {10 * share:.2f} s", f"{large.seconds:.3f} s")
    holds(large.megabytes <= 300 * share, f"at most {300 * share:.0f} MB", f"{large.megabytes:.0f} MB")
