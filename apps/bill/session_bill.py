"""The bill of a session: replayed from its journal, or counted request by request by a meter."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from threading import Lock
from typing import Any

from polycontext.base import UnknownNameError, require, whole_number
from polycontext.polynomial import ContextOverflowError, ContextSession, Conversation
from polycontext.polynomial.journal import TurnEvent, replayed
from polycontext.polynomial.session import Delivery, utc_now
from polycontext.pressure.cache import CachePlan, as_plan
from polycontext.pressure.schedule import Prices
from polycontext.window import InvalidMessagesError, Role
from polycontext.window.providers import Provider, Rendered, as_provider

from .account import Account, Limit, Request
from .entries import Bill
from .prices import prices_of


def bill_of(
    session: ContextSession,
    prices: Prices | None = None,
    provider: Provider | str | None = None,
    *,
    cache: bool | CachePlan = False,
) -> Bill:
    """Return the cost of a session's requests with the provider's prompt cache, and each miss.

    The requests are computed from the journal: one for each answer of the model, at the state
    before it, and one for the current state if it waits for an answer. A state that is no valid
    request in this format is left out. Each request counts at the time of the turn before it.
    O(journal).

    Args:
        session: the session.
        prices: for amounts of money. Defaults to the list prices of the session's model, if any.
        provider: the format of the requests. Defaults to the session's own.
        cache: as in `session.request`.

    Raises:
        UnknownNameError: there is no such provider.
        InvalidOptionError: `prices` is not `Prices`, or `cache` no plan.

    >>> from polycontext import ContextSession
    >>> session = ContextSession(max_tokens=8000)
    >>> _ = session.add_user_turn("Where is my parcel?")
    >>> print(bill_of(session).missed[0])
    12 tokens: first request
    """
    prices = _prices_or_listed(session, prices)
    wire, plan = _provider_of(session, provider), as_plan(cache)
    account = Account(lambda: seconds, session.window.counter, session.usage.model)
    writer, seconds = Delivery(), 0.0

    def count(conversation: Conversation) -> None:
        window = conversation.window
        with suppress(InvalidMessagesError, ContextOverflowError):
            rendered = writer.deliver(window, wire, plan=plan)
            ends = writer.ends(window, wire)
            account.add(Request(rendered, window, wire, ends, session.usage.tools))

    empty = session.history.at(0).conversation
    for before, event, after in replayed(session.history.events(), empty):
        if isinstance(event, TurnEvent):
            if event.turn.role is Role.ASSISTANT:
                count(before)
                account.add_output(after.log[-1].tokens or 0)
            seconds = event.turn.timestamp.timestamp()
    if session.conversation.log and session.conversation.log[-1].role is not Role.ASSISTANT:
        count(session.conversation)
    return account.bill(prices)


class Meter:
    """Counts the requests of a session as they are made, and refuses those over a limit.

    Of several requests for one state of the conversation and one format, only the last one counts.
    A meter starts with an empty bill. Safe under threads.

    >>> from polycontext import ContextSession
    >>> session = ContextSession(max_tokens=8000)
    >>> _ = session.add_user_turn("Where is my parcel?")
    >>> meter = Meter(session)
    >>> _ = meter.request(cache=True)
    >>> meter.bill().input
    12
    """

    def __init__(self, session: ContextSession, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._session = session
        self._account = Account(
            lambda: clock().timestamp(), session.window.counter, session.usage.model
        )
        self._delivery = Delivery()
        self._heard = len(session.conversation.log)
        self._lock = Lock()

    def messages(
        self, provider: Provider | str | None = None, *, allow_open: bool = False
    ) -> list[dict[str, Any]]:
        """Return the messages of `request`; see `ContextSession.messages`."""
        return self.request(provider, allow_open=allow_open).messages

    def request(
        self,
        provider: Provider | str | None = None,
        *,
        allow_open: bool = False,
        cache: bool | CachePlan = False,
        options: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> Rendered:
        """Return a request of the session and count it; see `ContextSession.request`.

        `tools` are the tool definitions that are sent with it, if they differ from the session's. A
        list that ends on open calls does not count.

        Raises:
            SpendingError: the request would exceed a limit; it is not counted.
            Any error that `ContextSession.request` raises.
        """
        session, wire = self._session, _provider_of(self._session, provider)
        with self._lock:
            rendered = session.request(wire, allow_open=allow_open, cache=cache, options=options)
            conversation = session.conversation
            self._hear(conversation)
            window = conversation.window
            if not window.open_calls:
                self._delivery.deliver(window, wire)
                ends = self._delivery.ends(window, wire)
                tools = session.usage.tools if tools is None else tools
                self._account.add(Request(rendered, window, wire, ends, tools))
        return rendered

    def bill(self, prices: Prices | None = None, provider: Provider | str | None = None) -> Bill:
        """Return the bill so far, of all formats or of one.

        Without `prices`, it uses the list prices of the session's model, if there are any.

        Raises:
            UnknownNameError: there is no such provider.
            InvalidOptionError: `prices` is not `Prices`.
        """
        prices = _prices_or_listed(self._session, prices)
        with self._lock:
            self._hear(self._session.conversation)
            return self._account.bill(prices, None if provider is None else as_provider(provider))

    def limit(
        self,
        *,
        tokens: int | None = None,
        money: float | None = None,
        prices: Prices | None = None,
        answer: int | None = None,
    ) -> None:
        """Refuse requests that would exceed a limit on tokens or money.

        The limit includes what is on the bill already.

        Args:
            tokens: the limit on tokens, sent and received.
            money: the limit in the currency of `prices`. Without either limit, an earlier one is
                removed.
            prices: prices for `money`. Defaults to those of the model.
            answer: how many tokens an answer counts before it arrives. Defaults to the session's
                reserve.

        Raises:
            InvalidOptionError: a limit is not a number, or `money` is set but no prices are known.
        """
        known, limit = _prices_or_listed(self._session, prices), None
        if tokens is not None:
            whole_number("tokens", tokens, 0)
        if money is not None:
            fits = isinstance(money, int | float) and not isinstance(money, bool)
            fits = fits and 0 <= money < float("inf")
            require("money", money, fits, "an amount in the currency of the prices, 0 or more")
            legal = "Prices of the model: without a model by name nobody knows them"
            require("prices", prices, known is not None, legal)
        if tokens is not None or money is not None:
            reserve = self._session.usage.reserve
            longest = reserve if answer is None else whole_number("answer", answer, 0)
            limit = Limit(tokens, money, known or Prices(0.0), longest)
        with self._lock:
            self._account.restrict(limit)

    def _hear(self, conversation: Conversation) -> None:
        """Account for the output of the model since the last request."""
        log, known = conversation.log, self._heard
        self._heard = len(log)
        said = sum(turn.tokens or 0 for turn in log[known:] if turn.role is Role.ASSISTANT)
        if said:
            self._account.add_output(said)


def _provider_of(session: ContextSession, provider: Provider | str | None) -> Provider:
    return session.usage.provider if provider is None else as_provider(provider)


def _prices_or_listed(session: ContextSession, prices: Prices | None) -> Prices | None:
    """Return `prices`, or the list prices of the session's model, if there are any."""
    legal = 'Prices, such as prices_of("gpt-5")'
    require("prices", prices, prices is None or isinstance(prices, Prices), legal)
    model = session.usage.model
    if prices is not None or model is None:
        return prices
    with suppress(UnknownNameError):
        return prices_of(model)
    return None
