"""What goes wrong by script: a refusal, or a connection that breaks, at the requests that a test names."""

from collections.abc import Iterator, Mapping
from itertools import islice
from threading import Lock

from attrs import define, field, frozen

from polycontext.linearity import InvalidOptionError

from .provider import Event
from .refusal import RequestRefusedError


@frozen
class Break:
    """Let the connection break once `events` events of the stream are out; without a stream at once.

    With `error` that event is sent last and the stream ends in good order, as vendors do when they fail in mid-answer.
    """

    events: int = 0
    error: Event | None = None


Fault = RequestRefusedError | Break
"""What a script lets happen to one request."""


def _scripted(faults: Mapping[int, Fault]) -> Mapping[int, Fault]:
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

    script: Mapping[int, Fault] = field(factory=dict, converter=_scripted)
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


def broken(events: Iterator[Event], fault: Break | None) -> Iterator[Event]:
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
