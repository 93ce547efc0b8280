# ruff: noqa: SLF001 - a part of a session
"""What the requests of a session use: what they cost, what they may cost, and how many tokens a provider counts (docs/cache.md)."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from polycontext.polynomial.machine.step import is_over_budget
from polycontext.pressure.cache.bill import Bill
from polycontext.pressure.cache.cache_plan import CachePlan
from polycontext.pressure.cache.prices import Prices
from polycontext.window.providers import Provider, Rendered
from polycontext.window.providers.wire import as_provider

from .billing import Billing, as_plan
from .delivery import options_for
from .measuring import Measured, Sizes, measured
from .options import require
from .verbs import SessionPart


class Usage(SessionPart):
    """Keep account of what a session hands out."""

    @property
    def _billing(self) -> Billing:
        """Return the account, which begins when it is first asked for."""
        session = self._session
        if session._billing is None:
            name, clock, asked = session._writer.session_id, session._clock, session._asking
            session._billing = Billing.of(session.conversation, session._delivery, session_id=name, clock=clock, asked=asked)
        return session._billing

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

        Every list that `messages` or `request` returned counts; of several in one state of the conversation and one format the last one. Money is told at `prices`, or the list prices of the session's model. O(requests).

        Raises:
            UnknownNameError: no such provider. InvalidOptionError: `prices` are none.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> _ = session.request(cache=True)
        >>> print(session.usage.bill().missed[0])
        12 tokens: first request
        """
        return self._billing.bill(self._session.conversation, prices, None if provider is None else as_provider(provider))

    def limit(
        self, *, tokens: int | None = None, money: float | None = None, prices: Prices | None = None, answer: int | None = None
    ) -> None:
        """Let no request be handed out with which more would be spent: in tokens, sent and answered, or in money at `prices`.

        What is on the bill already counts. An answer counts as `answer` tokens until it is there, the session's reserve unless said. Both None take
        the limit away. Copies and forks of the session have neither its bill nor its limit.

        Raises:
            InvalidOptionError: a limit that is no number, or money where neither prices nor the model's are known.
        """
        self._billing.limit(tokens, money, prices, answer)

    def reported(self, usage: object, *, model: str | None = None) -> Measured | None:
        """Learn from what a provider reports of the request that was handed out last, and give the window the room that it has by that.

        `usage` is a response, or its `usage`: of OpenAI's chat or Responses, or of Anthropic's messages, JSON data or the SDK's object. The counts of turns
        stay as they are; what changes is how many of them fit (docs/window.md, "Counting that learns"). Returns what is known by now of the model, None where
        the provider has cut the request before reading it, so that nothing can be learned of it. `model` is who answered, where the response does not say.

        Law: where a provider counts k tokens for each of ours, 0.5 to 2.5, and any number besides, no request is over the budget by its count once one of
        1,000 tokens or more was reported.

        Raises:
            InvalidDataError: no usage; names what is missing. InvalidOptionError: nothing was handed out yet.
            ContextOverflowError: what is sent beside the turns leaves them no room. Then nothing has changed.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?"), session.messages()
        >>> session.usage.reported({"prompt_tokens": 2012, "completion_tokens": 20}).besides  # tools that the session was not told of, say
        2000
        """
        session = self._session
        sizes = Sizes(session._writer.given, session._asking.tool_tokens, session.window.max_tokens)
        told, session._reports = measured(session._reports, session._delivery.delivered, usage, model or session._asking.model or "", sizes)
        if told is not None:
            session._writer.resize(told.room)
        return told

    def request(
        self, provider: Provider | str | None, *, allow_open: bool, cache: bool | CachePlan, options: Mapping[str, Any] | None
    ) -> Rendered:
        """Hand out a request that counts; see `ContextSession.request`."""
        if options is not None:
            require("options", options, isinstance(options, Mapping), 'fields of a request, such as {"thinking": {"type": "adaptive"}}')
            rendered = self.request(provider, allow_open=allow_open, cache=cache, options=None)
            return evolve(rendered, options=options_for(rendered.messages, rendered.options, options))
        wire = self.provider if provider is None else as_provider(provider)
        plan = as_plan(cache)
        self._make_room()
        return self._billing.request(self._session.conversation, wire, plan, allow_open=allow_open)

    def _make_room(self) -> None:
        """Have a view compressed that is over its budget since a provider counted more, or it was opened with less."""
        session = self._session
        if session.policy.auto and is_over_budget(session.window) and not session._writer.is_inside():
            session.documents.save()
