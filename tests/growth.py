"""How the cost of reading grows with what is read, for tests that must not depend on how busy a machine is."""

import time
from collections.abc import Callable

FACTOR = 8
"""How many times longer the second input is."""

BOUND = 4 * FACTOR
"""Growth that a linear reading stays under and a quadratic one, which costs `FACTOR` squared, does
not."""


def growth(read: Callable[[int], object], length: int) -> float:
    """Return how many times more CPU time of this thread `read(FACTOR * length)` takes than `read(length)`: the least of three tries each."""
    short, long = (min(_cost(read, n) for _ in range(3)) for n in (length, FACTOR * length))
    return long / max(short, 1e-6)


def _cost(read: Callable[[int], object], length: int) -> float:
    began = time.thread_time()
    read(length)
    return time.thread_time() - began
