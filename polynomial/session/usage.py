"""Usage of a session: its requests, what takes tokens beside the turns, and providers' reports."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from attrs import evolve

from polycontext.base import require
from polycontext.base.effects import drive
from polycontext.window.providers import Provider, Rendered, as_provider

from ..machine.step import is_over_budget
from .commands import Together
from .delivery import Delivery, options_for
from .measurement import Measured, Sizes, measure
from .part import SessionPart

if TYPE_CHECKING:
    from polycontext.pressure.cache import CachePlan

_KEY_BYTES = 16


class Usage(SessionPart):
    """The requests of a session, and what is known about their size."""

    @property
    def _delivery(self) -> Delivery:
        """Return the renderer of requests, created on first access."""
        # `setdefault` gives concurrent threads the same object.
        delivery: Delivery = vars(self._session).setdefault("_delivery", Delivery())
        return delivery

    @property
    def provider(self) -> Provider:
        """Return the default format of requests."""
        return self._session._room.provider

    @property
    def reserve(self) -> int:
        """Return the tokens that are subtracted from the window for the reply."""
        return self._session._room.reserve

    @property
    def tool_tokens(self) -> int:
        """Return the tokens that are subtracted from the window for tool definitions."""
        return self._session._room.tool_tokens

    @property
    def model(self) -> str | None:
        """Return the name of the model, if the session was told one."""
        return self._session._room.model

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return the tool definitions that are sent with every request."""
        return self._session._room.tools

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
        sizes = Sizes(session._writer.given, session._room.tool_tokens, session.window.max_tokens)
        told, session._reports = measure(
            session._reports,
            self._delivery.delivered,
            usage,
            model or session._room.model or "",
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
        cache: "bool | CachePlan",
        options: Mapping[str, Any] | None,
    ) -> Rendered:
        """Return a request; see `ContextSession.request`."""
        if options is not None:
            legal = 'fields of a request, such as {"thinking": {"type": "adaptive"}}'
            require("options", options, isinstance(options, Mapping), legal)
        wire = self.provider if provider is None else as_provider(provider)
        plan = None if cache is False else self._plan(cache)
        self._make_room()
        window = self._session.window
        rendered = self._delivery.deliver(window, wire, allow_open=allow_open, plan=plan)
        if options is None:
            return rendered
        return evolve(rendered, options=options_for(rendered.messages, rendered.options, options))

    def _plan(self, cache: object) -> "CachePlan | None":
        """Return the plan of a `cache` argument, with a key."""
        from polycontext.pressure.cache import as_plan  # noqa: PLC0415 - only needed here

        plan, name = as_plan(cache), self._session._writer.session_id
        if plan is None or plan.key is not None:
            return plan
        return evolve(plan, key=blake2b(name.encode(), digest_size=_KEY_BYTES).hexdigest())

    def _make_room(self) -> None:
        """Compress a view that went over budget because its window shrank.

        A report or opening with a smaller budget shrinks a window.
        """
        session = self._session
        is_over = session.policy.auto and is_over_budget(session.window)
        if is_over and not session._writer.is_inside():
            drive(session._write(Together(())))
