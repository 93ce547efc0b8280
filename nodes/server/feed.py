"""The events of one chat, for as many listeners as there are: none of them slows another, and none misses any."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any
from uuid import uuid4

import orjson
from attrs import frozen

KEPT = 512
"""Events that a feed holds; who is further behind is given how things stand now."""

PROPS = "props"
"""The kind of event that says how all stands: whoever sees it needs none before it."""


@frozen
class FeedEvent:
    """Hold one event: its id within the feed, what kind it is of, and its data as JSON text."""

    id: str
    kind: str
    text: str


class Feed:
    """Hand events out in order, from any of them on.

    A listener keeps nothing here: it reads what is held at its own pace. Where it has fallen behind what is held, or was listening before
    this feed began, it is given `snapshot`, the data of a `PROPS` event, and goes on from there.

    Laws: a listener sees every event behind the first that it sees, once and in order, or a snapshot in the place of those that it missed; what a
    feed holds does not grow with its listeners.
    """

    def __init__(self, snapshot: Callable[[], Mapping[str, Any]], kept: int = KEPT) -> None:
        self._snapshot = snapshot
        self._held: deque[FeedEvent] = deque(maxlen=kept)
        self._name = uuid4().hex[:8]
        self._last = 0
        self._more = asyncio.Event()
        self._closed = False
        self.listeners = 0

    @property
    def last(self) -> str:
        """Return the id of the newest event."""
        return f"{self._name}-{self._last}"

    def publish(self, kind: str, data: Mapping[str, Any]) -> None:
        """Add an event; whoever waits for one is woken."""
        self._last += 1
        self._held.append(FeedEvent(self.last, kind, orjson.dumps(data).decode()))
        self._woken()

    def close(self) -> None:
        """Let every listener end."""
        self._closed = True
        self._woken()

    async def listen(self, after: str | None = None) -> AsyncGenerator[FeedEvent]:
        """Yield the events behind that of the id `after`, and then each that comes; without one, or where it is not held, first how all stands."""
        seen = self._number(after)
        self.listeners += 1
        try:
            while not self._closed:
                # Taken before looking: what comes while a listener is at work wakes it as well.
                more = self._more
                if seen is None or seen < self._last - len(self._held):
                    seen = self._last
                    yield FeedEvent(self.last, PROPS, orjson.dumps(self._snapshot()).decode())
                elif seen < self._last:
                    seen += 1
                    yield self._held[seen - self._last - 1]
                else:
                    await more.wait()
        finally:
            self.listeners -= 1

    def _number(self, after: str | None) -> int | None:
        """Return the number of an event of this feed, None where it is of another one."""
        name, _, number = (after or "").rpartition("-")
        known = name == self._name and number.isascii() and number.isdigit() and int(number) <= self._last
        return int(number) if known else None

    def _woken(self) -> None:
        self._more.set()
        self._more = asyncio.Event()
