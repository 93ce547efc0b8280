"""The events of one chat, for any number of listeners that read at their own pace."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any
from uuid import uuid4

import orjson
from attrs import frozen

KEPT = 512
"""The number of events that a feed keeps; a listener further behind receives a snapshot."""

MOST_BYTES = 500_000
"""The maximum size of the events that a feed keeps, not counting the newest; each props event
repeats everything that is shown."""

PROPS = "props"
"""The kind of event that holds the current state; it needs no event before it."""

_SILENCE = 15
"""Seconds without an event before a listener receives a ping."""

Told = tuple[str, Mapping[str, Any]]
"""The kind of an event, and its data."""


@frozen
class FeedEvent:
    """An event: its id within the feed, its kind, and its data as UTF-8 JSON text.

    An event without an id is only part of a snapshot: a listener that received no more starts
    again.
    """

    id: str | None
    kind: str
    data: bytes

    @property
    def wire(self) -> bytes:
        r"""Return it encoded as a server-sent event.

        >>> FeedEvent("a-1", "delta", b'{"text":"plums"}').wire
        b'event: delta\nid: a-1\ndata: {"text":"plums"}\n\n'
        """
        named = f"event: {self.kind}\n" + (f"id: {self.id}\n" if self.id else "")
        # JSON text contains no line ends.
        return b"%bdata: %b\n\n" % (named.encode(), self.data) if self.data else b": \n\n"


PING = FeedEvent(None, "ping", b"")
"""A comment sent during silence, so that no proxy closes the connection as idle."""


class Feed:
    """A log of events that any number of listeners can read in order.

    The feed stores nothing for a listener. A listener that is too far behind, or whose last event
    is from an earlier feed, receives `snapshot` (a `PROPS` event and the events that follow from
    it) and continues from there.

    Laws:

    - After its first event, a listener receives every event once and in order, or a snapshot in
      place of those it missed.
    - Memory does not grow with the number of listeners.
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
        """Add an event and wake the listeners."""
        self._last += 1
        self._held.append(FeedEvent(self.last, kind, orjson.dumps(data)))
        self._bytes += len(self._held[-1].data)
        while len(self._held) > self._kept or (self._bytes > self._most and len(self._held) > 1):
            self._bytes -= len(self._held.popleft().data)
        self._wake()

    def close(self) -> None:
        """End every listener."""
        self._closed = True
        self._wake()

    async def listen(self, after: str | None = None) -> AsyncGenerator[FeedEvent]:
        """Yield the events after the one with the id `after`, then each new one.

        Without `after`, or if that event is no longer kept, a snapshot comes first.
        """
        seen = self._number(after)
        while not self._closed:
            # Read before checking: an event published while a listener is busy wakes it as well.
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
        """Return the current state as of the newest event.

        Only the last event of a snapshot has an id, because only then is the snapshot complete.
        """
        told = [(kind, orjson.dumps(data)) for kind, data in self._snapshot()]
        return [
            FeedEvent(None if number < len(told) else self.last, kind, data)
            for number, (kind, data) in enumerate(told, 1)
        ]

    def _number(self, after: str | None) -> int | None:
        """Return the number of an event after which everything is held, or None for any other."""
        numbers = range(self._last - len(self._held), self._last + 1)
        return {f"{self._name}-{number}": number for number in numbers}.get(after or "")

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()
