"""What a session's requests cost: each is handed out with its breakpoints and key, and stands on the bill (docs/cache.md)."""

from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b
from threading import Lock

from attrs import define, evolve, field

from polycontext.linearity import InvalidOptionError, UnknownNameError
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.pressure.cache.account import Account, Delivered, Limit
from polycontext.pressure.cache.bill import Bill
from polycontext.pressure.cache.cache_plan import CachePlan, marked
from polycontext.pressure.cache.prices import Prices, prices_of
from polycontext.window import Role
from polycontext.window.providers import Provider, Rendered

from .delivery import Delivery
from .options import Asking, require, whole_number

Clock = Callable[[], datetime]

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
    def of(cls, conversation: Conversation, delivery: Delivery, *, session_id: str, clock: Clock, asked: Asking) -> "Billing":
        """Return the billing of a session, which begins now."""
        key = blake2b(session_id.encode(), digest_size=_KEY_BYTES).hexdigest()
        account = Account(lambda: clock().timestamp(), conversation.window.counter, asked.model, asked.tools)
        return cls(delivery, account, key, asked.model, asked.reserve, len(conversation.log))

    def request(self, conversation: Conversation, provider: Provider, plan: CachePlan | None, *, allow_open: bool) -> Rendered:
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
            laid, marks = self.account.ask(Delivered(rendered, window, provider, self.delivery.ends(window, provider)), plan, key)
        if plan is None:
            return rendered
        if provider is Provider.ANTHROPIC:
            return marked(rendered, laid, marks)
        return evolve(rendered, options={**rendered.options, "prompt_cache_key": key})

    def bill(self, conversation: Conversation, prices: Prices | None, provider: Provider | None) -> Bill:
        """Return the bill so far; without `prices` at the list prices of the model, where there are some."""
        with self._lock:
            self._hear(conversation)
        return self.account.bill(self._known(prices), provider)

    def limit(self, tokens: int | None, money: float | None, prices: Prices | None, answer: int | None) -> None:
        """Say what may be spent.

        Raises:
            InvalidOptionError: a limit that is no number, or one of money where no price is known.
        """
        if tokens is None and money is None:
            self.account.restrict(None)
            return
        known = self._known(prices)
        if tokens is not None:
            whole_number("tokens", tokens, 0)
        fits = money is None or (isinstance(money, int | float) and not isinstance(money, bool) and 0 <= money < float("inf"))
        require("money", money, fits, "an amount in the currency of the prices, 0 or more")
        if money is not None and known is None:
            raise InvalidOptionError("prices", prices, "Prices of the model: without a model by name nobody knows them")
        longest = self.answer if answer is None else whole_number("answer", answer, 0)
        self.account.restrict(Limit(tokens, money, known or Prices(0.0), longest))

    def _known(self, prices: Prices | None) -> Prices | None:
        require("prices", prices, prices is None or isinstance(prices, Prices), "Prices, or None")
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
            self.account.heard(said)


def as_plan(cache: object) -> CachePlan | None:
    """Return the plan that `cache` stands for: True for the usual one.

    Raises:
        InvalidOptionError: it is neither a plan nor True or False.
    """
    require("cache", cache, isinstance(cache, bool | CachePlan), "True, False, or a CachePlan")
    if isinstance(cache, CachePlan):
        return cache
    return CachePlan() if cache else None
