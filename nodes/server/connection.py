"""One connection of a client, and for how long it may keep a request unfinished."""

from asyncio import TimerHandle, Transport

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_SECONDS = 60.0
"""From the first byte of a request to its last, and from the connection to the first request."""


class TimedProtocol(H11Protocol):
    """Speak HTTP/1.1 as uvicorn does, and close a connection whose request does not arrive.

    A client that sends half a request and then nothing, or a byte now and then, would hold its connection for ever otherwise.
    """

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Read on; a request that is whole is waited for no longer."""
        self._expect()
        super().data_received(data)
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._expect_no_more()

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
