"""The base of the strict providers: a request is judged and counted, and a script answers it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from itertools import count
from typing import Any, ClassVar

from attrs import define, field

from polycontext.base import guided, is_whole, require
from polycontext.window import REQUEST_OVERHEAD, TokenCounter, default_counter
from polycontext.window.providers import Provider
from polycontext.window.tokens.counter import TURN_OVERHEAD
from polycontext.window.wire_text import compact

from .checks import check_request
from .provider import (
    Endpoint,
    Event,
    Faults,
    Headers,
    Request,
    RequestRefusedError,
    as_faults,
    interrupt,
    vendor_errors,
)
from .request_tokens import SeenTokens


def check_window(_instance: object, _attribute: object, value: object) -> None:
    """Raise `InvalidOptionError` unless `value` is a number of tokens (a validator of attrs)."""
    require("window", value, is_whole(value, 1), "a number of tokens, at least 1")


@guided
@define(eq=False)
class Scripted(ABC):
    """A provider that judges requests by its vendor's rules, and answers from a script.

    Safe under threads if `reply` is. It remembers nothing of a request.

    Args:
        reply: Returns the model's reply to a request, in the vendor's format or as a text.
        window: The maximum tokens of a request; a longer one is rejected as an overflow.
        counter: The token counter of texts; o200k_base by default.
        faults: Scripted faults by the number of the request, from 1.
        clock: Returns the time in seconds, for the creation times of answers.
    """

    provider: ClassVar[Provider]
    messages: ClassVar[str]
    """The field of a request that holds its messages."""
    system: ClassVar[str] = ""
    """The field of a request that holds the system message, if there is one."""

    reply: Callable[[Request], Any]
    window: int = field(default=400_000, validator=check_window, kw_only=True)
    counter: TokenCounter = field(factory=default_counter, kw_only=True)
    faults: Faults = field(factory=Faults, converter=as_faults, kw_only=True)
    clock: Callable[[], float] = field(default=time.time, kw_only=True)
    _tokens: SeenTokens = field(init=False, repr=False)
    _numbers: "count[int]" = field(init=False, repr=False, factory=lambda: count(1))

    def __attrs_post_init__(self) -> None:
        self._tokens = SeenTokens(self.counter)

    @property
    @abstractmethod
    def path(self) -> str:
        """Return the path of a request for an answer."""

    @property
    def stream_path(self) -> str:
        """Return the path of a request for a stream."""
        return self.path

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return the handlers of further paths."""
        return {}

    def create(self, request: Request, *, headers: Headers | None = None) -> dict[str, Any]:
        """Return the vendor's answer.

        Raises:
            RequestRefusedError: the vendor would reject the request, or a scripted fault.
            ConnectionError: the script breaks the connection here.
        """
        self.faults.connect()
        return self.answer(request)

    def stream(self, request: Request, *, headers: Headers | None = None) -> Iterator[Event]:
        """Return the vendor's answer as events; the request is judged before the first of them.

        Raises:
            RequestRefusedError: as for `create`.
            ConnectionError: the script breaks the stream, here or between two events.
        """
        fault = self.faults.next()
        return interrupt(self.events(request, self.answer(request)), fault)

    def answer(self, request: Request) -> dict[str, Any]:
        """Judge `request` and return the whole answer."""
        tokens = self.judge(request)
        return self.render(request, self.reply(request), tokens)

    def judge(self, request: Request) -> int:
        """Return the tokens of `request`, or raise `RequestRefusedError`."""
        tokens = self.size(request)
        if tokens > self.window:
            raise self.overflow(tokens)
        return tokens

    def size(self, request: Request) -> int:
        """Return the tokens of `request`, whatever the window, or raise `RequestRefusedError`."""
        self.check(request)
        given = request.get(self.messages) or ()
        system = self._tokens.of(request.get(self.system))
        return (
            REQUEST_OVERHEAD
            + self._tokens.tools(request.get("tools"))
            + (system + TURN_OVERHEAD if system else 0)
            + sum(
                self._tokens.of(each) + TURN_OVERHEAD
                for each in ([given] if isinstance(given, str) else given)
            )
        )

    def check(self, request: Request) -> None:
        """Raise `RequestRefusedError` for a request that breaks a rule of the vendor's."""
        with vendor_errors():
            check_request(request, self.provider)

    def error_body(self, refusal: RequestRefusedError) -> dict[str, Any]:
        """Return `refusal` as the JSON body that the vendor sends; by default, as OpenAI does."""
        return {
            "error": {
                "message": refusal.message,
                "type": refusal.kind,
                "param": refusal.param,
                "code": refusal.code,
            }
        }

    def new_name(self, request: Request) -> str:
        """Return a new name of 12 hexadecimal digits for an answer to `request`.

        It differs for each answer, and as the conversation grows also between processes.
        """
        asked = compact(request.get(self.messages)).encode()
        return blake2b(b"%d%b" % (next(self._numbers), asked), digest_size=6).hexdigest()

    @abstractmethod
    def render(self, request: Request, reply: Any, tokens: int) -> dict[str, Any]:
        """Return `reply` as the vendor's answer to a request of `tokens`."""

    @abstractmethod
    def events(self, request: Request, answer: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of a stream of `answer`."""

    @abstractmethod
    def overflow(self, tokens: int) -> RequestRefusedError:
        """Return the vendor's error for a request of too many tokens."""
