"""The connections of clients: how many there are, and for how long one may keep a request unfinished."""

from asyncio import TimerHandle, Transport
from collections.abc import Sequence
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_SECONDS = 60.0
"""From the first byte of a request to its last, and from the connection to the first request."""

MOST_OPEN = 700
"""Connections at once: a process may commonly have 1,024 files open."""

STOPS_IN = 3
"""Seconds that answers have to end when the server is stopped."""


def configuration(app: Any, proxies: Sequence[str]) -> Config:
    """Return how an application is served.

    Only `proxies` may name the client that they speak for, in ``X-Forwarded-For``.
    """
    trusted: dict[str, Any] = {"proxy_headers": bool(proxies), "forwarded_allow_ips": [*proxies]}
    # Few are taken in at a time: each is an open file before it can be counted.
    return Config(
        app,
        http=TimedProtocol,
        ws="none",
        backlog=64,
        log_level="warning",
        timeout_graceful_shutdown=STOPS_IN,
        **trusted,
    )


class TimedProtocol(H11Protocol):
    """Speak HTTP/1.1 as uvicorn does, and close a connection whose request does not arrive.

    A client that sends half a request and then nothing, or a byte now and then, would hold its
    connection for ever otherwise.
    """

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Expect a request, or close at once where too many are open."""
        super().connection_made(transport)
        self._expect()
        if len(self.connections) > MOST_OPEN:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on; a request that is whole is waited for no longer."""
        self._expect()
        super().data_received(data)
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._expect_no_more()

    def on_response_complete(self) -> None:
        """Expect the rest of a request that began to arrive before this answer was written."""
        super().on_response_complete()
        if self.conn.their_state in {h11.IDLE, h11.SEND_BODY}:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing of a client that is gone."""
        self._expect_no_more()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(MOST_SECONDS, self.transport.abort)

    def _expect_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
