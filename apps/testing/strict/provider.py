"""What every strict provider can do: answer a request, or the same as a stream of events."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import orjson
from attrs import frozen

from .refusal import RequestRefusedError

Request = Mapping[str, Any]
"""The JSON body of a request."""

Headers = Mapping[str, str]
"""The headers of a request, their names in lower case."""

Endpoint = Callable[[Request, Headers], dict[str, Any]]
"""Answers requests to one path with a JSON body, or raises `RequestRefusedError`."""


@frozen
class Event:
    r"""Hold one server-sent event: its name, if it has one, and its data, JSON or a plain text such as ``[DONE]``.

    >>> Event("ping", {"type": "ping"}).encoded()
    b'event: ping\ndata: {"type":"ping"}\n\n'
    """

    name: str | None
    data: Any

    def encoded(self) -> bytes:
        """Return the event as it travels."""
        data = self.data.encode() if isinstance(self.data, str) else orjson.dumps(self.data)
        return (b"event: " + self.name.encode() + b"\n" if self.name else b"") + b"data: " + data + b"\n\n"


class StrictProvider(Protocol):
    """Stand for a provider that refuses what the vendor refuses. Safe under threads.

    `path` is where requests for an answer go; `endpoints` are further paths that answer with JSON.
    """

    @property
    def path(self) -> str:
        """Return the path of a request for an answer, such as ``/v1/messages``."""
        ...

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return what answers at further paths."""
        ...

    def create(self, request: Request, *, headers: Headers = ...) -> dict[str, Any]:
        """Return the vendor's answer.

        Raises:
            RequestRefusedError: what the vendor would refuse, or a scripted fault.
            ConnectionError: the script breaks the connection here.
        """
        ...

    def stream(self, request: Request, *, headers: Headers = ...) -> Iterator[Event]:
        """Return the vendor's answer as events; the request is judged before the first of them.

        Raises:
            RequestRefusedError: as `create`.
            ConnectionError: the script breaks the stream, here or between two events.
        """
        ...

    def error_body(self, refusal: RequestRefusedError) -> dict[str, Any]:
        """Return `refusal` as the JSON body that the vendor sends."""
        ...
