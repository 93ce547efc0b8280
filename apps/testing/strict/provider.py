"""What every strict provider can do: answer a request, or the same as a stream of events, refuse it, and fail by script."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from threading import Lock
from typing import Any, Protocol

import orjson
from attrs import define, field, frozen

from polycontext.linearity import CallerError, InvalidOptionError

Request = Mapping[str, Any]
"""The JSON body of a request."""

Headers = Mapping[str, str]
"""The headers of a request, their names in lower case."""

Endpoint = Callable[[Request, Headers], dict[str, Any]]
"""Answers requests to one path with a JSON body, or raises `RequestRefusedError`."""


@define(slots=False, eq=False)
class RequestRefusedError(CallerError, ValueError):
    """Refuse a request as the vendor does.

    `status` is the HTTP status, `kind` the vendor's type of error, `message` its wording. `rule` is
    the stable name of the rule (those of docs/providers.md, or of docs/testing.md for what needs
    the provider's memory), `index` the place of the message in the list (None for the request as a
    whole) and `legal` what would have passed. `param` and `code` are what OpenAI says besides;
    `retry_after` are the seconds of that header.

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
    message: str, rule: str, index: int | None = None, legal: str = "", code: str | None = None
) -> RequestRefusedError:
    """Return the refusal of a request that is wrong in itself: 400."""
    return RequestRefusedError(400, "invalid_request_error", message, rule, index, legal, code=code)


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
        return (
            (b"event: " + self.name.encode() + b"\n" if self.name else b"")
            + b"data: "
            + data
            + b"\n\n"
        )


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


@frozen
class Break:
    """Let the connection break once `events` events of the stream are out.

    Without a stream at once.

    With `error` that event is sent last and the stream ends in good order, as vendors do when they
    fail in mid-answer.
    """

    events: int = 0
    error: Event | None = None


Fault = RequestRefusedError | Break
"""What a script lets happen to one request."""


def _checked_script(faults: Mapping[int, Fault]) -> Mapping[int, Fault]:
    for number, fault in faults.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidOptionError("faults", number, "the number of a request, from 1")
        if not isinstance(fault, RequestRefusedError | Break):
            raise InvalidOptionError(f"faults[{number}]", fault, "a RequestRefusedError or a Break")
    return dict(faults)


@define
class Faults:
    """Count requests and say what happens to each: nothing, unless the script names its number (from 1).

    >>> faults = Faults({2: Break(events=3)})
    >>> faults.next(), faults.next(), faults.next()
    (None, Break(events=3, error=None), None)
    """

    script: Mapping[int, Fault] = field(factory=dict, converter=_checked_script)
    count: int = field(default=0, init=False)
    _lock: Lock = field(init=False, repr=False, eq=False, factory=Lock)

    def next(self) -> Break | None:
        """Count a request.

        Raises:
            RequestRefusedError: the script refuses it.
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
            RequestRefusedError: the script refuses it.
            ConnectionResetError: the script breaks the connection here.
        """
        if self.next() is not None:
            raise ConnectionResetError("the script breaks the connection here")


def as_faults(given: Faults | Mapping[int, Fault] | None) -> Faults:
    """Return `given` as faults; none where there are none."""
    return given if isinstance(given, Faults) else Faults(given or {})


def interrupt(events: Iterator[Event], fault: Break | None) -> Iterator[Event]:
    """Yield `events` up to where `fault` breaks them.

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
