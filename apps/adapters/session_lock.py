"""One fit after the other: a session takes in one list and hands out the view of it before the next one comes."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from threading import Lock, get_ident

from attrs import define, field

from polycontext.polynomial import ContextSession, SessionWriteError

_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
"""Seconds that a task waits before it looks again, at first and at most: a lock of threads cannot be awaited."""

_WITHIN: ContextVar[tuple[object, ...]] = ContextVar("polycontext_fitting", default=())


@define(eq=False)
class SessionLock:
    """Hold a session for whoever works on it, among threads and tasks; `users` are those who have it or wait for it."""

    session: ContextSession
    users: int = 0
    _lock: Lock = field(init=False, factory=Lock)
    _holder: object = field(init=False, default=None)
    _thread: int | None = field(init=False, default=None)

    @contextmanager
    def held(self) -> Generator[ContextSession]:
        """Yield the session once nobody else works on it.

        Raises:
            SessionWriteError: whoever works on it waits for this call to return.
        """
        self._check()
        if not self._lock.acquire(blocking=False):
            # A task of this thread has it, and goes on only when the thread is free again.
            if self._thread == get_ident():
                raise SessionWriteError("a task of this thread is fitting the same conversation", "awaiting `afit` among tasks")
            self._lock.acquire()
        with self._mine():
            yield self.session

    @asynccontextmanager
    async def aheld(self) -> AsyncGenerator[ContextSession]:
        """Yield the session once nobody else works on it, without blocking; see `held`."""
        self._check()
        pause = _PAUSE
        while not self._lock.acquire(blocking=False):
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        with self._mine():
            yield self.session

    def _check(self) -> None:
        holder = self._holder
        if holder is not None and holder in _WITHIN.get():
            raise SessionWriteError(
                "a summariser or listener fits the conversation that it works for", "fitting it once the call that asked has returned"
            )

    @contextmanager
    def _mine(self) -> Generator[None]:
        """Mark what runs within, and let go at its end."""
        self._holder, self._thread = holder, _ = object(), get_ident()
        token = _WITHIN.set((*_WITHIN.get(), holder))
        try:
            yield
        finally:
            _WITHIN.reset(token)
            self._holder = self._thread = None
            self._lock.release()
