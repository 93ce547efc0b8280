"""Usage of a session: costs, spending limits, and the tokens that a provider counts.

See docs/cache.md.
"""

from collections.abc import Mapping
from hashlib import blake2b
from threading import Lock
from typing import Any

from attrs import define, evolve, field

from polycontext.base import UnknownNameError
from polycontext.pressure.cache import (
    Account,
    Bill,
    CachePlan,
    Limit,
    Prices,
    Request,
    apply_marks,
    prices_of,
)
from polycontext.window import Role
from polycontext.window.providers import Provider, Rendered, as_provider

from ..journal.conversation import Conversation
from ..machine.step import is_over_budget
from .delivery import Delivery, options_for
from .measurement import Measured, Sizes, measure
from .options import require, whole_number
from .verbs import SessionPart

_KEY_BYTES = 16


@define(eq=False)
class Billing:
    """Delivers requests and keeps their account; one thread at a time."""

    delivery: Delivery
    account: Account
    key: str
    model: str | None
    answer: int
    _heard: int
    """The number of turns of the log that are already accounted for."""
    _lock: Lock = field(init=False, repr=False, factory=Lock)

    @classmethod
    def of(cls, session: Any, delivery: Delivery) -> "Billing":
        """Return the billing of a session, starting now."""
        conversation, asked, clock = session.conversation, session._asking, session._clock
        key = blake2b(session._writer.session_id.encode(), digest_size=_KEY_BYTES).hexdigest()
        account = Account(
            lambda: clock().timestamp(), conversation.window.counter, asked.model, asked.tools
        )
        return cls(delivery, account, key, asked.model, asked.reserve, len(conversation.log))

    def request(
        self,
        conversation: Conversation,
        provider: Provider,
        plan: CachePlan | None,
        *,
        allow_open: bool,
    ) -> Rendered:
        """Return the view as a request, with the cache options of `plan`.

        Raises:
            SpendingError: the request would exceed a limit.
            Any error of the delivery.
        """
        window = conversation.window
        with self._lock:
            self._hear(conversation)
            rendered = self.delivery.deliver(window, provider, allow_open=allow_open)
            if allow_open and window.open_calls:
                return rendered  # for inspection: no provider accepts it
            key = None if plan is None else plan.key or self.key
            ends = self.delivery.ends(window, provider)
            layout, marks = self.account.ask(Request(rendered, window, provider, ends), plan, key)
        if plan is None:
            return rendered
        if provider is Provider.ANTHROPIC:
            return apply_marks(rendered, layout, marks)
        return evolve(rendered, options={**rendered.options, "prompt_cache_key": key})

    def bill(
        self, conversation: Conversation, prices: Prices | None, provider: Provider | None
    ) -> Bill:
        """Return the bill so far.

        Without `prices`, it uses the list prices of the model, if there are any.
        """
        with self._lock:
            self._hear(conversation)
        return self.account.bill(self.prices_or_listed(prices), provider)

    def prices_or_listed(self, prices: Prices | None) -> Prices | None:
        """Return `prices`, or the list prices of the model, if there are any."""
        require(
            "prices",
            prices,
            prices is None or isinstance(prices, Prices),
            'Prices, such as prices_of("gpt-5")',
        )
        if prices is not None or self.model is None:
            return prices
        try:
            return prices_of(self.model)
        except UnknownNameError:
            return None

    def _hear(self, conversation: Conversation) -> None:
        """Account for the output of the model since the last request."""
        log, known = conversation.log, self._heard
        self._heard = len(log)
        said = sum(turn.tokens or 0 for turn in log[known:] if turn.role is Role.ASSISTANT)
        if said:
            self.account.add_output(said)


def as_plan(cache: object) -> CachePlan | None:
    """Return the cache plan of a `cache` argument; True is the default plan.

    Raises:
        InvalidOptionError: it is neither a plan nor True or False.
    """
    require("cache", cache, isinstance(cache, bool | CachePlan), "True, False, or a CachePlan")
    if isinstance(cache, CachePlan):
        return cache
    return CachePlan() if cache else None


class Usage(SessionPart):
    """The account of the requests that a session returns."""

    @property
    def _billing(self) -> Billing:
        """Return the account, which starts on first access."""
        session = self._session
        if session._billing is None:
            session._billing = Billing.of(session, self._delivery)
        return session._billing

    @property
    def _delivery(self) -> Delivery:
        """Return the renderer of requests, created on first access."""
        # `setdefault` gives concurrent threads the same object.
        delivery: Delivery = vars(self._session).setdefault("_delivery", Delivery())
        return delivery

    @property
    def provider(self) -> Provider:
        """Return the default format of requests."""
        return self._session._provider

    @property
    def reserve(self) -> int:
        """Return the tokens that are subtracted from the window for the reply."""
        return self._session._asking.reserve

    @property
    def tool_tokens(self) -> int:
        """Return the tokens that are subtracted from the window for tool definitions."""
        return self._session._asking.tool_tokens

    def bill(self, prices: Prices | None = None, provider: Provider | str | None = None) -> Bill:
        """Return the cost of requests so far with the provider's prompt cache, and each cache miss.

        Every list that `messages` or `request` returned counts. Of several for one state of the
        conversation and one format, only the last one does. Amounts use `prices`, or the list
        prices of the session's model. O(requests).

        Raises:
            UnknownNameError: there is no such provider.
            InvalidOptionError: `prices` is not `Prices`.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> _ = session.request(cache=True)
        >>> print(session.usage.bill().missed[0])
        12 tokens: first request
        """
        return self._billing.bill(
            self._session.conversation, prices, None if provider is None else as_provider(provider)
        )

    def limit(
        self,
        *,
        tokens: int | None = None,
        money: float | None = None,
        prices: Prices | None = None,
        answer: int | None = None,
    ) -> None:
        """Refuse requests that would exceed a limit on tokens or money.

        The limit includes what is on the bill already. Copies and forks of the session have neither
        its bill nor its limit.

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
        billing = self._billing
        if tokens is None and money is None:
            billing.account.restrict(None)
            return
        known = billing.prices_or_listed(prices)
        if tokens is not None:
            whole_number("tokens", tokens, 0)
        if money is not None:
            fits = isinstance(money, int | float) and not isinstance(money, bool)
            fits = fits and 0 <= money < float("inf")
            require("money", money, fits, "an amount in the currency of the prices, 0 or more")
            legal = "Prices of the model: without a model by name nobody knows them"
            require("prices", prices, known is not None, legal)
        longest = billing.answer if answer is None else whole_number("answer", answer, 0)
        billing.account.restrict(Limit(tokens, money, known or Prices(0.0), longest))

    def reported(self, usage: object, *, model: str | None = None) -> Measured | None:
        """Learn from a provider's usage report of the last request, and adjust the window.

        The counts of turns stay as they are; only how many of them fit changes (docs/counting.md,
        "Counting that learns").

        Args:
            usage: a response or its `usage`, as JSON data or an SDK object: OpenAI's Chat or
                Responses, or Anthropic's Messages.
            model: the model that answered, if the response does not name it.

        Returns:
            What is known about the model now, or None if the provider edited the request before it
            read it, so that nothing can be learned.

        Law: if a provider counts k tokens for each of ours, 0.5 to 2.5, and any number besides, no
        request exceeds the budget by its count once one of 1,000 tokens or more was reported.

        Raises:
            InvalidDataError: `usage` is not a usage report. The message names what is missing.
            InvalidOptionError: no request has been returned yet.
            ContextOverflowError: the tokens beside the turns leave no room for them. Then nothing
                changes.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?"), session.messages()
        >>> session.usage.reported(
        ...     {"prompt_tokens": 2012, "completion_tokens": 20}
        ... ).besides  # tools that the session was not told of, say
        2000
        """
        session = self._session
        sizes = Sizes(session._writer.given, session._asking.tool_tokens, session.window.max_tokens)
        told, session._reports = measure(
            session._reports,
            self._delivery.delivered,
            usage,
            model or session._asking.model or "",
            sizes,
        )
        if told is not None:
            session._writer.resize(told.room)
        return told

    def request(
        self,
        provider: Provider | str | None,
        *,
        allow_open: bool,
        cache: bool | CachePlan,
        options: Mapping[str, Any] | None,
    ) -> Rendered:
        """Return a request and account for it; see `ContextSession.request`."""
        legal = 'fields of a request, such as {"thinking": {"type": "adaptive"}}'
        require("options", options, options is None or isinstance(options, Mapping), legal)
        wire, plan = self.provider if provider is None else as_provider(provider), as_plan(cache)
        self._make_room()
        conversation = self._session.conversation
        rendered = self._billing.request(conversation, wire, plan, allow_open=allow_open)
        if options is None:
            return rendered
        return evolve(rendered, options=options_for(rendered.messages, rendered.options, options))

    def _make_room(self) -> None:
        """Compress a view that went over budget because its window shrank.

        A report or opening with a smaller budget shrinks a window.
        """
        session = self._session
        is_over = session.policy.auto and is_over_budget(session.window)
        if is_over and not session._writer.is_inside():
            session.documents.save()
