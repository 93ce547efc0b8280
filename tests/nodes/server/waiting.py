"""Waiting in the tests of the server, as long as a busy machine may need."""

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, 20 seconds at most."""
    for _ in range(4000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come to hold")
