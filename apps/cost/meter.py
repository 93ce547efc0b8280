"""A meter: it adds up what providers reported for a session's requests, and enforces limits."""

from contextlib import suppress
from math import inf
from threading import Lock
from typing import Any

from attrs import define, field, frozen

from polycontext.base import CallerError, UnknownNameError, guided, is_number, require, whole_number
from polycontext.polynomial import ContextSession
from polycontext.pressure.cache import CachePlan, as_plan
from polycontext.pressure.schedule import Prices
from polycontext.window.providers import Provider, Rendered, dumped

from .prices import cost_of, prices_of
from .reports import Tokens, reported_tokens


@define(slots=False, eq=False)
class SpendingError(CallerError, RuntimeError):
    """A request would exceed a spending limit; nothing was sent or counted.

    `what` is "tokens" or "money", `spent` the amount before the request, and `asked` the amount
    that the request and its longest reply would add.
    """

    what: str
    spent: float
    asked: float
    limit: float

    def __str__(self) -> str:
        spent, asked, limit = (f"{n:,.12g}" for n in (self.spent, self.asked, self.limit))
        return (
            f"{self.what}: {spent} spent and {asked} requested, but the limit is {limit}. "
            "Shorten the request or raise the limit."
        )


@frozen
class Cost:
    """The cost of requests, of which `unreported` came back without usage.

    `money` is None if a request was answered by a model without a known price.
    """

    requests: int = 0
    unreported: int = 0
    tokens: Tokens = field(factory=Tokens)
    money: float | None = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        both = None if self.money is None or other.money is None else self.money + other.money
        return Cost(
            self.requests + other.requests,
            self.unreported + other.unreported,
            self.tokens + other.tokens,
            both,
        )


@guided
class Meter:
    """Adds up the reported usage of a session's requests, and refuses requests over a limit.

    Args:
        session: the session that makes the requests.
        prices: the prices of all requests. By default, each has the list prices of the model that
            answered it, or of the session's model if that one has none.

    Safe under threads. A meter starts at zero.

    Raises:
        InvalidOptionError: `prices` is not `Prices`.

    >>> meter = Meter(ContextSession("claude-sonnet-4-5"))
    >>> _ = meter.add({"usage": {"input_tokens": 1_000_000, "output_tokens": 0}})
    >>> meter.cost.money
    3.0
    """

    def __init__(self, session: ContextSession, prices: Prices | None = None) -> None:
        legal = 'Prices, such as prices_of("gpt-5")'
        require("prices", prices, isinstance(prices, Prices | None), legal)
        self._session, self._prices, self._cost = session, prices, Cost()
        self._limits, self._answer, self._lock = dict[str, float](), 0, Lock()

    @property
    def cost(self) -> Cost:
        """Return the cost of all responses so far."""
        return self._cost

    def add(self, response: object, *, model: str | None = None) -> Cost:
        """Add a provider's response, or its usage, and return its own cost.

        `model` is the model that answered, if the response does not name it.

        Raises:
            InvalidDataError: the response is not JSON data or an SDK object, or a count is not a
                number of tokens. Then nothing changes.
        """
        tokens, prices = reported_tokens(response), self._prices_of(response, model)
        used = tokens or Tokens()
        money = None if prices is None else cost_of(used, prices)
        own = Cost(1, int(tokens is None), used, money if used.total else 0.0)
        with self._lock:
            self._cost += own
        return own

    def request(
        self,
        provider: Provider | str | None = None,
        *,
        cache: bool | CachePlan = False,
        **options: Any,
    ) -> Rendered:
        """Return a request within the limits; see `ContextSession.request` for the arguments.

        Raises:
            SpendingError: the request would exceed a limit.
        """
        made = self._session.request(provider, cache=cache, **options)
        spent, tokens = self._cost, self._expected(as_plan(cache))
        money = cost_of(tokens, self._prices_of() or Prices(0))
        for what, before, asked in (
            ("tokens", spent.tokens.total, tokens.total),
            ("money", spent.money or 0.0, money),
        ):
            if before + asked > self._limits.get(what, inf):
                raise SpendingError(what, before, asked, self._limits[what])
        return made

    def limit(
        self, *, tokens: int | None = None, money: float | None = None, answer: int | None = None
    ) -> None:
        """Refuse requests after which the reported usage could exceed a limit.

        A request counts as if none of it were read from the cache.

        Args:
            tokens: the limit on tokens, sent and received.
            money: the limit in the currency of the prices. Without either limit, an earlier one is
                removed.
            answer: how many tokens an answer counts before it arrives. Defaults to the session's
                reserve.

        Raises:
            InvalidOptionError: a limit is not a number, or `money` is set but no prices are known.
        """
        longest = self._session.usage.reserve if answer is None else answer
        limits = dict[str, float]()
        if tokens is not None:
            limits["tokens"] = whole_number("tokens", tokens, 0)
        if money is not None:
            legal = "0 or more, with prices= or a model with a price"
            require("money", money, is_number(money, 0) and self._prices_of(), legal)
            limits["money"] = money
        self._answer, self._limits = whole_number("answer", longest, 0), limits

    def _expected(self, plan: CachePlan | None) -> Tokens:
        """Return the most that the next request can use."""
        window = self._session.window
        asked = window.total_tokens + window.introduced_tokens + self._session.usage.tool_tokens
        is_long = plan is not None and "1h" in (plan.ttl, plan.head_ttl)
        kind = "plain" if plan is None else "written_long" if is_long else "written"
        return Tokens(**{kind: asked}, output=self._answer)

    def _prices_of(self, response: object = None, model: str | None = None) -> Prices | None:
        """Return the prices of a response: the meter's, or those of the model that answered."""
        if self._prices is not None:
            return self._prices
        data = dumped(response) or {}
        for name in (model, data.get("model"), data.get("modelVersion"), self._session.usage.model):
            with suppress(UnknownNameError):
                if isinstance(name, str):
                    return prices_of(name)
        return None
