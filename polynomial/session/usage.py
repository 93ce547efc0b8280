"""What the requests of a session use: what they cost, what they may cost, and how many tokens a provider counts (docs/cache.md)."""

from collections.abc import Mapping
from hashlib import blake2b
from threading import Lock
from typing import Any

from attrs import define, evolve, field

from polycontext.linearity import UnknownNameError
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
    """Hand out requests and keep their account; one thread at a time."""

    delivery: Delivery
    account: Account
    key: str
    model: str | None
    answer: int
    _heard: int
    """How many turns of the log are known."""
    _lock: Lock = field(init=False, repr=False, factory=Lock)

    @classmethod
    def of(cls, session: Any, delivery: Delivery) -> "Billing":
        """Return the billing of a session, which begins now."""
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
        """Return the view as a request, with what `plan` puts on it.

        Raises:
            SpendingError: with it a limit would be crossed. Whatever a delivery raises.
        """
        window = conversation.window
        with self._lock:
            self._hear(conversation)
            rendered = self.delivery.deliver(window, provider, allow_open=allow_open)
            if allow_open and window.open_calls:
                return rendered  # to look at: no vendor takes it
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

        Without `prices` at the list prices of the model, where there are some.
        """
        with self._lock:
            self._hear(conversation)
        return self.account.bill(self.prices_or_listed(prices), provider)

    def prices_or_listed(self, prices: Prices | None) -> Prices | None:
        """Return `prices`, or the list prices of the model where there are some."""
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
        """Take in what the model has said since the last request."""
        log, known = conversation.log, self._heard
        self._heard = len(log)
        said = sum(turn.tokens or 0 for turn in log[known:] if turn.role is Role.ASSISTANT)
        if said:
            self.account.add_output(said)


def as_plan(cache: object) -> CachePlan | None:
    """Return the plan that `cache` stands for: True for the usual one.

    Raises:
        InvalidOptionError: it is neither a plan nor True or False.
    """
    require("cache", cache, isinstance(cache, bool | CachePlan), "True, False, or a CachePlan")
    if isinstance(cache, CachePlan):
        return cache
    return CachePlan() if cache else None


class Usage(SessionPart):
    """Keep account of what a session hands out."""

    @property
    def _billing(self) -> Billing:
        """Return the account, which begins when it is first asked for."""
        session = self._session
        if session._billing is None:
            session._billing = Billing.of(session, self._delivery)
        return session._billing

    @property
    def _delivery(self) -> Delivery:
        """Return what writes the view for providers, made when it is first asked for."""
        # Threads that ask at once get the same one.
        delivery: Delivery = vars(self._session).setdefault("_delivery", Delivery())
        return delivery

    @property
    def provider(self) -> Provider:
        """Return in whose format requests go out where none is said."""
        return self._session._provider

    @property
    def reserve(self) -> int:
        """Return the tokens that were taken off the window for the reply, before anything stood in it."""
        return self._session._asking.reserve

    @property
    def tool_tokens(self) -> int:
        """Return the tokens that were taken off it for the definitions of tools."""
        return self._session._asking.tool_tokens

    def bill(self, prices: Prices | None = None, provider: Provider | str | None = None) -> Bill:
        """Return what requests cost so far, as the provider's prompt cache would have served them, and why they missed what they missed.

        Every list that `messages` or `request` returned counts; of several in one state of the
        conversation and one format the last one. Money is told at `prices`, or the list prices of
        the session's model. O(requests).

        Raises:
            UnknownNameError: no such provider. InvalidOptionError: `prices` are none.

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
        """Let no request be handed out with which more would be spent: in tokens, sent and answered, or in money at `prices`.

        What is on the bill already counts. An answer counts as `answer` tokens until it is there,
        the session's reserve unless said. Both None take the limit away. Copies and forks of the
        session have neither its bill nor its limit.

        Raises:
            InvalidOptionError: a limit that is no number, or money where neither prices nor the
                model's are known.
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
        """Learn from what a provider reports of the request that was handed out last, and give the window the room that it has by that.

        `usage` is a response, or its `usage`: of OpenAI's chat or Responses, or of Anthropic's
        messages, JSON data or the SDK's object. The counts of turns stay as they are; what changes
        is how many of them fit (docs/counting.md, "Counting that learns"). Returns what is known by
        now of the model, None where the provider has cut the request before reading it, so that
        nothing can be learned of it. `model` is who answered, where the response does not say.

        Law: where a provider counts k tokens for each of ours, 0.5 to 2.5, and any number besides,
        no request is over the budget by its count once one of 1,000 tokens or more was reported.

        Raises:
            InvalidDataError: no usage; names what is missing. InvalidOptionError: nothing was
                handed out yet.
            ContextOverflowError: what is sent beside the turns leaves them no room. Then nothing
                has changed.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?"), session.messages()
        >>> session.usage.reported({"prompt_tokens": 2012, "completion_tokens": 20}).besides  # tools that the session was not told of, say
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
        """Hand out a request that counts; see `ContextSession.request`."""
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
        """Have a view compressed that is over its budget since a provider counted more, or it was opened with less."""
        session = self._session
        is_over = session.policy.auto and is_over_budget(session.window)
        if is_over and not session._writer.is_inside():
            session.documents.save()
