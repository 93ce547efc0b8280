"""How reading time grows with the input, for tests that must not depend on a busy machine."""

import time
from collections.abc import Callable
from math import inf

FACTOR = 8
"""How many times longer the second input is."""

BOUND = 4 * FACTOR
"""The growth limit: a linear reading stays under it, and a quadratic one (`FACTOR` squared)
does not.
"""


ENOUGH, MOST = 3, 12
"""How often both are measured at least, and at most while the ratio is over the limit."""


def growth(read: Callable[[int], object], length: int) -> float:
    """Return the ratio of the CPU times of `read(FACTOR * length)` and `read(length)`.

    Each time is the least that was measured: other work makes a time longer, never shorter.
    """
    short = long = inf
    for tries in range(1, MOST + 1):
        short = min(short, _cost(read, length))
        long = min(long, _cost(read, FACTOR * length))
        if tries >= ENOUGH and long < BOUND * short:
            break
    return long / max(short, 1e-6)


def _cost(read: Callable[[int], object], length: int) -> float:
    began = time.thread_time()
    read(length)
    return time.thread_time() - began
