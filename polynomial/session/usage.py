"""Usage of a session: its requests, and what is learned from providers' usage reports.

A turn is counted once and its count stays. A provider counts differently: a factor for each of our
tokens, and a number of tokens beside the turns that are unknown here (its own instructions, tools
that the session was not told of). Both are estimated from the reports. The result is one number
that everything else uses: how many of our tokens the window has room for. The journal stores
neither reports nor room.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Never

from attrs import evolve, frozen

from polycontext.base import InvalidDataError, InvalidOptionError, guided, is_whole, require
from polycontext.base.effects import drive
from polycontext.window.providers import Provider, Rendered, anthropic, as_provider, dumped

from ..errors import ContextOverflowError
from ..journal.spending import Spent, spent
from ..machine.step import is_over_budget
from .commands import Together
from .delivery import SentRequest, options_for
from .writer import SessionPart

if TYPE_CHECKING:
    from polycontext.pressure.cache import CachePlan

_KEY_BYTES = 16


LEAST_FACTOR, MOST_FACTOR = 0.5, 2.5
"""The range of a provider's tokens per token of a counter that a different tokenizer can explain.
The remainder counts as beside the turns.
"""

LEAST_BELIEVED = 0.25
"""The smallest share of a request's counted tokens that a report may name and be believed.

Counts are upper bounds, but a smaller report is of another request, or of one with large pictures:
neither says how text is counted.
"""

WEIGHT = 200
"""The weight in tokens of a whole request, against what is learned from how requests grow."""

TELLING = 1_000
"""The request size in tokens from which the whole-request ratio counts fully. In a smaller request,
most of the reported tokens may be beside the turns.
"""

STEPS = 128
"""The number of steps that divide a window. The room changes in whole steps, because every new size
invalidates what was read for gists.
"""

MOST_REPORTED = 10**15
"""The most tokens that a report may name."""

LEAST_ROOM = 64
"""The smallest useful room, in tokens."""

_USAGE = (
    "the usage of a response: prompt_tokens of OpenAI's chat, "
    "input_tokens of Responses or of Anthropic's messages, promptTokenCount of contents"
)


@frozen
class Measured:
    """How a model counts, according to its provider's reports.

    Attributes:
        model: the name of the model.
        counted: the tokens of the last request, as counted here.
        reported: the tokens of the last request, as the provider reports them, including tools.
        factor: the provider's tokens for each of ours.
        besides: the provider's tokens beside the turns.
        room: how many of our tokens the window has room for from now on.
    """

    model: str
    counted: int
    reported: int
    factor: float
    besides: int
    room: int


@frozen
class Evidence:
    """The reports on one model's requests: the last one, and the sums of how they grew."""

    last: SentRequest
    reported: int
    grown: int = 0
    grown_reported: int = 0

    def after(self, request: SentRequest, reported: int) -> "Evidence":
        """Return the evidence with one more report.

        If the request has grown since the last one, the difference is the size of its new turns.
        """
        counted, told = request.tokens - self.last.tokens, reported - self.reported
        learns = (
            request.epoch == self.last.epoch
            and counted > 0
            and LEAST_FACTOR * counted <= told <= MOST_FACTOR * counted
        )
        more = (counted, told) if learns else (0, 0)
        return Evidence(request, reported, self.grown + more[0], self.grown_reported + more[1])

    @property
    def factor(self) -> float:
        """Return the provider's tokens for each of ours.

        It is the ratio of all growth, weighted with that of the last whole request.
        """
        whole = min(MOST_FACTOR, max(LEAST_FACTOR, self.reported / self.last.tokens))
        whole = 1 + (whole - 1) * min(1.0, self.last.tokens / TELLING)
        return (WEIGHT * whole + self.grown_reported) / (WEIGHT + self.grown)

    @property
    def besides(self) -> int:
        """Return the provider's tokens beside the turns, as the last report implies; at least 0."""
        return max(0, round(self.reported - self.factor * self.last.tokens))


@guided
class Usage(SessionPart):
    """The requests of a session, and what is known about their size."""

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

    @tools.setter
    def tools(self, _: object) -> Never:
        raise AttributeError(
            "tools cannot be set. Use ContextSession.open(store, id, tools=tools)."
        )

    @property
    def spent(self) -> Spent:
        """Return the model calls that the journal records, such as those of an agent.

        Calls count also if a rewind or a `clear` has undone what they brought: they were paid.
        O(events).
        """
        return spent(self._session._writer.events(0))

    def reported(self, usage: object, *, model: str | None = None) -> Measured | None:
        """Learn from a provider's usage report of the last request, and adjust the window.

        The counts of turns stay as they are; only how many of them fit changes (docs/counting.md,
        "Counting that learns").

        Args:
            usage: a response or its `usage`, as JSON data or an SDK object: OpenAI's Chat or
                Responses, or Anthropic's Messages.
            model: the model that answered, if the response does not name it.

        Returns:
            What is known about the model now, or None if nothing can be learned: the provider
            edited the request before it read it, reports less than a quarter of its count, or
            gives no count (zero, null or no such field, as local servers do).

        Law: if a provider counts k tokens for each of ours, 0.5 to 2.5, and few besides, no request
        exceeds the budget by its count while the last report is of one that we count as 1,000
        tokens or more.

        Raises:
            InvalidDataError: `usage` is not a usage report, or holds no number where one belongs.
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
        session, request, told = self._session, self._session._sent.delivered, None
        tokens, name = input_tokens(usage)
        if tokens is not None and request is None:
            legal = "what is reported of a request that this session has handed out "
            raise InvalidOptionError("usage", usage, f"{legal}by messages() or request()")
        if tokens is not None and request and tokens >= LEAST_BELIEVED * request.tokens:
            name = name or model or session._room.model or ""
            known: Evidence | None = session._reports.get(name)
            evidence = known.after(request, tokens) if known else Evidence(request, tokens)
            besides, room = evidence.besides, self._window_room(evidence)
            told = Measured(name, request.tokens, tokens, evidence.factor, besides, room)
            session._reports = {**session._reports, name: evidence}
            session._writer.resize(room)
        cached, epoch = cached_tokens(usage), self._session._sent.epoch
        if cached is not None and epoch is not None:
            session._writer.note_cached(epoch, cached)
        return told

    def _window_room(self, evidence: Evidence) -> int:
        """Return how many of our tokens the window has room for.

        It shrinks at once, but grows only in larger steps, since a new size invalidates the cache
        for gists.
        """
        given, now = self._session._writer.given, self._session.window.max_tokens
        # The reported tokens include the session's tools.
        budget, step = given + self.tool_tokens, max(1, given // STEPS)
        tokens = int((budget - evidence.besides) / evidence.factor)
        if tokens < LEAST_ROOM:
            needed = evidence.besides + round(evidence.factor * LEAST_ROOM)
            raise ContextOverflowError(
                needed, budget, "what was sent beside the turns, as the provider counts it,"
            )
        tokens = max(tokens // step * step, LEAST_ROOM)
        return now if now <= tokens < now + 2 * step else tokens

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
        rendered = self._session._sent.deliver(window, wire, allow_open=allow_open, plan=plan)
        if wire is Provider.ANTHROPIC and _has_marks_beside(self.tools, options):
            rendered, options = _with_fewer_marks(rendered, self.tools, options)
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


def _has_marks_beside(
    tools: Sequence[Mapping[str, Any]], options: Mapping[str, Any] | None
) -> bool:
    """Return whether tools or the request itself have cache breakpoints, beside the messages'."""
    given = options or {}
    beside = (*tools, *(given.get("tools") or ()), given)
    return any(anthropic.block_rules.MARK in each for each in beside)


def _with_fewer_marks(
    rendered: Rendered, tools: Sequence[Mapping[str, Any]], options: Mapping[str, Any] | None
) -> tuple[Rendered, Mapping[str, Any] | None]:
    """Return a request and the caller's options without the breakpoints that are too many."""
    given = {"tools": tools, **(options or {})}
    body = {**given, "system": rendered.system, "messages": rendered.messages}
    fewer = anthropic.block_rules.with_fewer_marks(body)
    kept = options and {name: value for name, value in options.items() if name in fewer}
    return evolve(rendered, system=fewer["system"], messages=fewer["messages"]), kept


# --- usage reports ------------------------------------------------------------------


def input_tokens(given: object) -> tuple[int | None, str]:
    """Return the input tokens of a usage report, including cached ones, and any model name.

    The tokens are None if the report says nothing about the request: it has no count, or the
    provider summarised the conversation before it read it.

    Raises:
        InvalidDataError: `given` is not a usage report, or holds no number where one belongs.

    >>> input_tokens(
    ...     {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90}
    ... )
    (1000, '')
    """
    response, usage = _split(given)
    name = response.get("model")
    told = _sent(usage)
    return (None if told is None else told + _cleared(response)), name if isinstance(
        name, str
    ) else ""


def cached_tokens(given: object) -> int | None:
    """Return the tokens of a request that the provider read from its cache, None if not reported.

    >>> cached_tokens({"input_tokens": 10, "cache_read_input_tokens": 900})
    900
    """
    usage = _split(given)[1]
    for name in ("prompt_tokens_details", "input_tokens_details"):
        if isinstance(details := usage.get(name), Mapping) and is_whole(
            details.get("cached_tokens"), 0
        ):
            return int(details["cached_tokens"])
    names = ("cache_read_input_tokens", "cachedContentTokenCount", "prompt_cache_hit_tokens")
    return next((int(usage[name]) for name in names if is_whole(usage.get(name), 0)), None)


def _split(given: object) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the response, if `given` is one, and its usage."""
    data = _data(given)
    key = next((key for key in ("usage", "usageMetadata", "usage_metadata") if key in data), "")
    return (data, _data(data[key], key)) if key else ({}, data)


def _data(given: object, path: str = "usage") -> Mapping[str, Any]:
    """Return `given`, or an SDK object, as a mapping, an empty one for None."""
    data = {} if given is None else dumped(given)
    if not isinstance(data, Mapping):
        problem = f"{type(given).__name__} is not usage data"
        raise InvalidDataError(path, problem, f"{_USAGE}, or the response")
    return data


def _sent(usage: Mapping[str, Any]) -> int | None:
    """Return the tokens of the request as it was sent, None if no count is given."""
    for name in ("prompt_tokens", "promptTokenCount", "prompt_token_count"):
        if usage.get(name):
            return _whole(usage, name)
    for entry in _entries(usage, "iterations"):
        # With server-side tools, the totals cover several requests: the first one is ours.
        if entry.get("type") == "compaction":
            return None
        if entry.get("type") == "message":
            return _with_cached(entry)
    return _with_cached(usage)


def _with_cached(usage: Mapping[str, Any]) -> int | None:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    total = sum(_whole(usage, name) for name in names if usage.get(name))
    return None if usage.get("input_tokens") is None else total or None


def _whole(usage: Mapping[str, Any], name: str) -> int:
    value: Any = usage[name]
    if not is_whole(value, 1, MOST_REPORTED):
        raise InvalidDataError(f"usage.{name}", f"{value!r:.100} is not a number of tokens", _USAGE)
    return int(value)


def _cleared(response: Mapping[str, Any]) -> int:
    """Return the tokens that the provider removed from the request by its context edits."""
    managed = response.get("context_management")
    edits = _entries(managed, "applied_edits") if isinstance(managed, Mapping) else ()
    tokens = (edit.get("cleared_input_tokens") for edit in edits)
    return sum(each for each in tokens if is_whole(each, 0, MOST_REPORTED))


def _entries(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    entries = data.get(name) or ()
    if not isinstance(entries, list | tuple):
        raise InvalidDataError(name, f"{type(entries).__name__} is no list", _USAGE)
    return [entry for entry in entries if isinstance(entry, Mapping)]
