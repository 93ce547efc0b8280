"""Limits on client connections: their number, and how long a request may stay incomplete."""

from asyncio import TimerHandle, Transport
from collections.abc import Sequence
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_SECONDS = 60.0
"""The maximum time from the first byte of a request to its last, and from connecting to the first
request."""

MOST_OPEN = 700
"""The maximum number of connections: a process may commonly have 1,024 files open."""

STOPS_IN = 3
"""Seconds that answers have to finish when the server stops."""


def configuration(app: Any, proxies: Sequence[str]) -> Config:
    """Return the uvicorn configuration for an application.

    Only `proxies` may set the client's address, in ``X-Forwarded-For``.
    """
    trusted: dict[str, Any] = {"proxy_headers": bool(proxies), "forwarded_allow_ips": [*proxies]}
    # The backlog is small, because each accepted connection is an open file before it is counted.
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
    """uvicorn's HTTP/1.1 protocol with a deadline for each request.

    Without it, a client that sends half a request, or a byte from time to time, would hold its
    connection forever.
    """

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the deadline, or close at once if too many connections are open."""
        super().connection_made(transport)
        self._expect()
        if len(self.connections) > MOST_OPEN:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Start the deadline if none runs, and stop it when the request is complete."""
        self._expect()
        super().data_received(data)
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._expect_no_more()

    def on_response_complete(self) -> None:
        """Start the deadline for a request that arrived in part before this response ended."""
        super().on_response_complete()
        if self.conn.their_state in {h11.IDLE, h11.SEND_BODY}:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline."""
        self._expect_no_more()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(MOST_SECONDS, self.transport.abort)

    def _expect_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
