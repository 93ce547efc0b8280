"""A lock that outlives an event loop."""

from asyncio import AbstractEventLoop, Lock, get_running_loop
from weakref import WeakKeyDictionary


class LoopLock:
    """A lock among the tasks of an event loop.

    Unlike asyncio's it may be used in one loop after another, as tests use an application.
    """

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[AbstractEventLoop, Lock] = WeakKeyDictionary()

    @property
    def _own(self) -> Lock:
        return self._locks.setdefault(get_running_loop(), Lock())

    def locked(self) -> bool:
        """Return whether a task of this loop holds the lock."""
        return self._own.locked()

    async def __aenter__(self) -> None:
        await self._own.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._own.release()
