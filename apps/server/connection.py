"""Limits on client connections: their number, and how long a client may keep the server waiting."""

import asyncio
import socket
from asyncio import TimerHandle, Transport
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from .access import known_user

MOST_SECONDS = 60.0
"""The maximum time from the first byte of a request to its last, from connecting to the first
request, and for a client to read a full buffer."""

MOST_OPEN = 700
"""The maximum number of connections: a process may commonly have 1,024 files open."""

NEW_SECONDS = 2.0
"""How long a connection may take to its first request before others replace it first."""

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
        backlog=128,
        log_level="warning",
        timeout_graceful_shutdown=STOPS_IN,
        **trusted,
    )


class _Closable(Protocol):
    def close(self) -> object: ...


class Server(uvicorn.Server):
    """A uvicorn server that closes event streams before it shuts down, and stores afterwards."""

    def __init__(self, app: FastAPI, proxies: Sequence[str], *stores: _Closable) -> None:
        super().__init__(configuration(app, proxies))
        self._chats, self._stores = getattr(app.state, "chats", None), stores

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the event streams first: uvicorn would otherwise wait for clients that listen."""
        if self._chats is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOPS_IN):
                    await self._chats.close()
        await super().shutdown(sockets)
        # Close the stores here: after `run` returns, the signal that stopped the server ends the
        # process.
        for store in self._stores:
            store.close()


class TimedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with deadlines for reading and writing, and room for everybody.

    Without the deadlines, a client that sends half a request, a byte from time to time, or never
    reads, would hold its connection forever. When too many connections are open, a new one
    replaces another; see `superfluous`.
    """

    _reading: TimerHandle | None = None
    _writing: TimerHandle | None = None
    opened = 0.0

    @property
    def user(self) -> str | None:
        """Return the user that the latest request proved to be with a token, None if there is none.

        A connection keeps its user when it waits for the next request.
        """
        return known_user(self.scope) if self.scope else None

    @property
    def is_waiting(self) -> bool:
        """Return whether no complete request is being answered."""
        return not self.cycle or self._reading is not None or self.cycle.response_complete

    @property
    def is_new(self) -> bool:
        """Return whether the client has had no time yet to prove who it is."""
        return self.loop.time() - self.opened < NEW_SECONDS and not self.cycle

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the deadline; close another connection if too many are open."""
        super().connection_made(transport)
        self.opened = self.loop.time()
        self._expect()
        if len(self.connections) > MOST_OPEN:
            yields = superfluous(
                each
                for each in self.connections
                if isinstance(each, TimedProtocol) and each is not self
            )
            self.connections.discard(yields)
            yields.transport.abort()

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

    def pause_writing(self) -> None:
        """Start the deadline for a client whose buffer is full."""
        super().pause_writing()
        if self._writing is None:
            self._writing = self.loop.call_later(MOST_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the deadline: the client reads."""
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadlines."""
        self._expect_no_more()
        self.resume_writing()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._reading is None:
            self._reading = self.loop.call_later(MOST_SECONDS, self.transport.abort)

    def _expect_no_more(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


def superfluous(connections: Iterable[TimedProtocol]) -> TimedProtocol:
    """Return the connection that is closed when there are too many.

    Connections without a user's token go first, unless they are new: those may be about to send
    one. Of the rest, those of the client with the most go. A client is a user, or else an address.
    Of one client's connections, those without a complete request go first, then the oldest.
    """
    clients = {each: each.user or (each.client or ("",))[0] for each in connections}
    strangers = [each for each in clients if each.user is None and not each.is_new]
    held = Counter(clients[each] for each in strangers or clients)
    most = max(held.values())
    return min(
        (each for each in strangers or clients if held[clients[each]] == most),
        key=lambda each: (each.user is not None, not each.is_waiting, each.opened),
    )
