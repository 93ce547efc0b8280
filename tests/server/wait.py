"""Waiting in the tests of the server, as long as a busy machine may need."""

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, a minute at most."""
    for _ in range(12_000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come to hold")
