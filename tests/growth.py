"""How reading time grows with the input, for tests that must not depend on a busy machine."""

import time
from collections.abc import Callable

FACTOR = 8
"""How many times longer the second input is."""

BOUND = 4 * FACTOR
"""The growth limit: a linear reading stays under it, and a quadratic one (`FACTOR` squared)
does not.
"""


def growth(read: Callable[[int], object], length: int) -> float:
    """Return the ratio of the CPU times of `read(FACTOR * length)` and `read(length)`.

    Each time is the least of three tries.
    """
    short, long = (min(_cost(read, n) for _ in range(3)) for n in (length, FACTOR * length))
    return long / max(short, 1e-6)


def _cost(read: Callable[[int], object], length: int) -> float:
    began = time.thread_time()
    read(length)
    return time.thread_time() - began
