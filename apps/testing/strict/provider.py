"""The interface of strict providers: answers, event streams, errors and scripted faults."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import orjson
from attrs import define, field, frozen

from polycontext.base import CallerError, is_whole, require
from polycontext.window import InvalidMessagesError

TABLES: dict[str, Any] = orjson.loads(Path(__file__).with_name("tables.json").read_bytes())
"""Of vendors: the fields of requests and those that moved, what a response says of options that its
request did not set, and the fields that a model does not see."""

Request = Mapping[str, Any]
"""The JSON body of a request."""

Headers = Mapping[str, str]
"""The headers of a request, with names in lower case."""

Endpoint = Callable[[Request, Headers], dict[str, Any]]
"""A handler of requests to one path that returns a JSON body or raises `RequestRefusedError`."""


@define(slots=False, eq=False)
class RequestRefusedError(CallerError, ValueError):
    """A request that the vendor would reject.

    Attributes:
        status: The HTTP status.
        kind: The vendor's type of error.
        message: The vendor's message.
        rule: The stable name of the rule, from docs/providers.md or docs/testing.md.
        index: The position of the message in the list, or None for the whole request.
        legal: What would have been accepted.
        param: OpenAI's name of the parameter.
        code: The vendor's error code.
        retry_after: The seconds of the ``retry-after`` header.

    >>> print(RequestRefusedError(529, "overloaded_error", "Overloaded", "scripted-fault"))
    529 overloaded_error: Overloaded (rule scripted-fault)
    """

    status: int
    kind: str
    message: str
    rule: str
    index: int | None = None
    legal: str = ""
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None

    def __str__(self) -> str:
        legal = f"; use {self.legal}" if self.legal else ""
        return f"{self.status} {self.kind}: {self.message} (rule {self.rule}{legal})"


def invalid_request(
    message: str,
    rule: str,
    index: int | None = None,
    legal: str = "",
    code: str | None = None,
    *,
    param: str | None = None,
    status: int = 400,
) -> RequestRefusedError:
    """Return the error for an invalid request."""
    kind = "invalid_request_error"
    return RequestRefusedError(status, kind, message, rule, index, legal, param, code)


@contextmanager
def vendor_errors() -> Generator[None]:
    """Convert `InvalidMessagesError` to the error that the vendor sends."""
    try:
        yield
    except InvalidMessagesError as error:
        raise invalid_request(
            error.wording or str(error),
            error.rule,
            error.index,
            error.legal,
            error.code,
            param=error.param,
            status=404 if error.rule == "not-stored" else 400,
        ) from error


@frozen
class Event:
    r"""A server-sent event: an optional name, and data that is JSON or a text such as ``[DONE]``.

    >>> Event("ping", {"type": "ping"}).encoded()
    b'event: ping\ndata: {"type":"ping"}\n\n'
    """

    name: str | None
    data: Any

    def encoded(self) -> bytes:
        """Return the event encoded for the wire."""
        data = self.data.encode() if isinstance(self.data, str) else orjson.dumps(self.data)
        return (
            (b"event: " + self.name.encode() + b"\n" if self.name else b"")
            + b"data: "
            + data
            + b"\n\n"
        )


@frozen
class Break:
    """A fault that breaks the connection after `events` events, or immediately without a stream.

    With `error`, that event is sent last and the stream ends normally, as vendors do when they fail
    in the middle of an answer.
    """

    events: int = 0
    error: Event | None = None


Fault = RequestRefusedError | Break
"""A fault that a script sets for one request."""


def _checked_script(faults: Mapping[int, Fault]) -> Mapping[int, Fault]:
    for number, fault in faults.items():
        require("faults", number, is_whole(number, 1), "the number of a request, from 1")
        fits = isinstance(fault, RequestRefusedError | Break)
        require(f"faults[{number}]", fault, fits, "a RequestRefusedError or a Break")
    return dict(faults)


@define
class Faults:
    """A counter of requests with a script that gives a fault for some numbers, from 1.

    >>> faults = Faults({2: Break(events=3)})
    >>> faults.next(), faults.next(), faults.next()
    (None, Break(events=3, error=None), None)
    """

    script: Mapping[int, Fault] = field(factory=dict, converter=_checked_script)
    count: int = field(default=0, init=False)
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def next(self) -> Break | None:
        """Count a request and return its fault, if any.

        Raises:
            RequestRefusedError: the script rejects it.
        """
        with self._lock:
            self.count += 1
            fault = self.script.get(self.count)
        if isinstance(fault, RequestRefusedError):
            raise fault
        return fault

    def connect(self) -> None:
        """Count a request without a stream.

        Raises:
            RequestRefusedError: the script rejects it.
            ConnectionResetError: the script breaks the connection here.
        """
        if self.next() is not None:
            raise ConnectionResetError("the script breaks the connection here")


def as_faults(given: Faults | Mapping[int, Fault] | None) -> Faults:
    """Return `given` as `Faults`, which are empty for None."""
    return given if isinstance(given, Faults) else Faults(given or {})


def interrupt(events: Iterator[Event], fault: Break | None) -> Iterator[Event]:
    """Yield `events` until `fault` breaks the stream.

    Raises:
        ConnectionResetError: the stream breaks here.
    """
    if fault is None:
        yield from events
        return
    yield from islice(events, fault.events)
    if fault.error is None:
        raise ConnectionResetError("the script breaks the stream here")
    yield fault.error
