"""The events of one chat, for as many listeners as there are: none of them slows another, and none misses any."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any
from uuid import uuid4

import orjson
from attrs import frozen

KEPT = 512
"""Events that a feed holds; who is further behind is given how things stand now."""

MOST_BYTES = 500_000
"""Bytes of the events that a feed holds, but for the newest one; props repeat all that is shown."""

PROPS = "props"
"""The kind of event that says how all stands: whoever sees it needs none before it."""

_MOST_DIGITS = 18
"""Python reads no number of more than 4,300, and no feed has so many events as this."""

_SILENCE = 15
"""Seconds without an event, after which a listener is told that the line stands."""

Told = tuple[str, Mapping[str, Any]]
"""The kind of an event, and its data."""


@frozen
class FeedEvent:
    """Hold one event: its id within the feed, what kind it is of, and its data as JSON text in UTF-8.

    An event without an id is only a part of how things stand: whoever was told no more than that
    begins anew.
    """

    id: str | None
    kind: str
    data: bytes

    @property
    def wire(self) -> bytes:
        r"""Return it as a server-sent event.

        >>> FeedEvent("a-1", "delta", b'{"text":"plums"}').wire
        b'event: delta\nid: a-1\ndata: {"text":"plums"}\n\n'
        """
        named = f"event: {self.kind}\n" + (f"id: {self.id}\n" if self.id else "")
        # JSON text has no line ends of its own.
        return b"%bdata: %b\n\n" % (named.encode(), self.data) if self.data else b": \n\n"


PING = FeedEvent(None, "ping", b"")
"""What is said where there is nothing to say, so that nobody in between takes the line for dead."""


class Feed:
    """Hand events out in order, from any of them on.

    A listener keeps nothing here: it reads what is held at its own pace. Where it has fallen behind
    what is held, or was listening before this feed began, it is given `snapshot`, a `PROPS` event
    and whatever has come behind it, and goes on from there.

    Laws: a listener sees every event behind the first that it sees, once and in order, or a
    snapshot in the place of those that it missed; what a feed holds does not grow with its
    listeners.
    """

    def __init__(
        self, snapshot: Callable[[], Iterable[Told]], kept: int = KEPT, most: int = MOST_BYTES
    ) -> None:
        self._snapshot, self._kept, self._most = snapshot, kept, most
        self._held: deque[FeedEvent] = deque()
        self._bytes = 0
        self._name = uuid4().hex[:8]
        self._last = 0
        self._more = asyncio.Event()
        self._closed = False

    @property
    def last(self) -> str:
        """Return the id of the newest event."""
        return f"{self._name}-{self._last}"

    def publish(self, kind: str, data: Mapping[str, Any]) -> None:
        """Add an event; whoever waits for one is woken."""
        self._last += 1
        self._held.append(FeedEvent(self.last, kind, orjson.dumps(data)))
        self._bytes += len(self._held[-1].data)
        while len(self._held) > self._kept or (self._bytes > self._most and len(self._held) > 1):
            self._bytes -= len(self._held.popleft().data)
        self._wake()

    def close(self) -> None:
        """Let every listener end."""
        self._closed = True
        self._wake()

    async def listen(self, after: str | None = None) -> AsyncGenerator[FeedEvent]:
        """Yield the events behind that of the id `after`, and then each that comes.

        Without one, or where it is not held, first how all stands.
        """
        seen = self._number(after)
        while not self._closed:
            # Taken before looking: what comes while a listener is at work wakes it as well.
            more = self._more
            if seen is None or seen < self._last - len(self._held):
                seen = self._last
                for event in self._snapshot_events():
                    yield event
            elif seen < self._last:
                seen += 1
                yield self._held[seen - self._last - 1]
            else:
                try:
                    async with asyncio.timeout(_SILENCE):
                        await more.wait()
                except TimeoutError:
                    yield PING

    def _snapshot_events(self) -> list[FeedEvent]:
        """Return how all stands, as of the newest event.

        Only with the last of it has a listener seen that one.
        """
        told = [(kind, orjson.dumps(data)) for kind, data in self._snapshot()]
        return [
            FeedEvent(None if number < len(told) else self.last, kind, data)
            for number, (kind, data) in enumerate(told, 1)
        ]

    def _number(self, after: str | None) -> int | None:
        """Return the number of an event of this feed, None where it is of another one."""
        name, _, number = (after or "").rpartition("-")
        known = (
            name == self._name
            and number.isascii()
            and number.isdigit()
            and len(number) <= _MOST_DIGITS
            and int(number) <= self._last
        )
        return int(number) if known else None

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()
