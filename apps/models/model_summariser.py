"""Summaries by a model: the part that is the same for every provider.

The provider's class sends the requests and reads the answers. Retries are left to the vendors'
SDKs, whose exceptions (rate limit, timeout) are not wrapped.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, NoReturn

from attrs import Factory, define, field, frozen
from attrs.validators import optional

from polycontext.base import (
    CollaboratorError,
    InvalidDataError,
    InvalidOptionError,
    UnknownNameError,
    advised,
    require_extra,
    whole_number,
)
from polycontext.base.effects import (
    Effect,
    Steps,
    adrive,
    drive,
    in_thread,
    procedure,
    twin,
    within,
)
from polycontext.cost import cost_of, prices_of
from polycontext.cost.reports import Tokens, reported_tokens
from polycontext.pressure import Plan, SummaryUsage, report_usage
from polycontext.pressure.gist import GistJob
from polycontext.pressure.notes import Fact, Section, clip, facts_of
from polycontext.window import (
    REQUEST_OVERHEAD,
    InvalidMessagesError,
    ModelProfile,
    Role,
    TokenCounter,
    Turn,
    count_tools,
    count_turn,
    find_model,
)
from polycontext.window.providers import Provider, Rendered, get_format

from .brief import ROLE, Brief, Excerpt, excerpts_of

THINKING_ROOM = 4_096
"""Tokens of an answer besides the summary, because a model's thinking counts as output."""

LEAST_PIECE = 64
"""The smallest piece of a conversation, in tokens, that is worth a request."""

MOST_FACTS = 1_000
"""The maximum tokens of facts that a summary must contain; they are never in the prompt cache."""

MOST_QUESTION = 200
"""The maximum tokens of the reader's next question in the prompt."""

_LONG_QUESTION = 4_000
"""The number of characters of the question that are read."""

_SPARE = 0.8
"""The share of the allowance to ask for: models count badly, and forgotten facts are appended."""

_LINE = 24
"""Tokens of the line that names a speaker, its mark included."""


@define(slots=False, eq=False)
class NoSummaryError(CollaboratorError, RuntimeError):
    """A model returned something other than a summary (`came`); `legal` says what to do.

    >>> raise NoSummaryError("gpt-5", "a refusal")
    Traceback (most recent call last):
    polycontext.errors.NoSummaryError: gpt-5 was asked for a summary and returned \
a refusal. Use a model that answers with a complete text.
    """

    model: str
    came: str
    legal: str = "a model that answers with a complete text"

    def __str__(self) -> str:
        return advised(
            f"{self.model} was asked for a summary and returned {self.came}", f"Use {self.legal}"
        )


@frozen
class Asked:
    """One request: its turns (the first `own` are the conversation's), token limit and options."""

    turns: Sequence[Turn]
    answer: int
    own: int = 0
    options: Mapping[str, Any] = field(factory=dict)


def _as_tuple(given: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple(given)


def _client(given: object) -> Any:
    if isinstance(given, str):
        raise InvalidOptionError(
            "client",
            given,
            'a client of the vendor\'s SDK, or None; the model is said as model="..."',
        )
    return given


def _find_profile(made: "ModelSummariser") -> ModelProfile | None:
    """Return the profile of the model, or None if it is unknown but `max_input_tokens` is given."""
    if not isinstance(made.model, str) or not made.model:
        raise InvalidOptionError("model", made.model, "the provider's name for the model")
    try:
        return find_model(made.model)
    except UnknownNameError as error:
        if made.max_input_tokens is None:
            error.advice = "For any other model, pass its longest request as max_input_tokens=."
            raise
        return None


@frozen
class ModelSummariser(ABC):
    """A summariser that asks a model; see `OpenAISummariser` and `AnthropicSummariser`."""

    client: Any = field(default=None, converter=_client, repr=False)
    model: str = field(default="")
    tools: Sequence[Mapping[str, Any]] = field(default=(), converter=_as_tuple, kw_only=True)
    options: Mapping[str, Any] = field(factory=dict, repr=False, kw_only=True)
    headers: Mapping[str, str] = field(factory=dict, repr=False, kw_only=True)
    on_prefix: bool = field(default=True, kw_only=True)
    max_input_tokens: int | None = field(
        default=None, validator=optional(lambda _, a, v: whole_number(a.name, v, 1)), kw_only=True
    )
    max_summary_tokens: int = field(
        default=4_000, validator=lambda _, a, v: whole_number(a.name, v, 1), kw_only=True
    )
    timeout: float | None = field(default=None, kw_only=True)
    max_retries: int | None = field(default=None, kw_only=True)
    heard: Callable[[Mapping[str, Any]], object] | None = field(default=None, kw_only=True)
    _profile: ModelProfile | None = field(
        init=False, repr=False, default=Factory(_find_profile, takes_self=True)
    )

    package: ClassVar[str]
    clients: ClassVar[tuple[str, str]]
    """The SDK's client classes: the synchronous one and the asynchronous one."""
    provider: ClassVar[Provider]

    def __attrs_post_init__(self) -> None:
        if self.client is None:
            require_extra(self.package, extra=self.package, purpose=f"a summary by {self.model}")

    @procedure
    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> Steps[str]:
        """Return a summary of `turns`, which are sent as data; see `Summariser`.

        `asummarise` runs a synchronous client in a thread.

        Raises:
            NoSummaryError: the model answered with something other than a summary.
            InvalidOptionError: the client is asynchronous, or `max_input_tokens` is too small.
            Exception: any error of the vendor's SDK after its retries.
        """
        brief = yield in_thread(self._brief, turns, max_tokens, counter, query)
        return (yield from self._run(partial(self._read, turns, brief, counter)))

    asummarise = twin(summarise)

    @procedure
    def summarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> Steps[str]:
        """Return the text of a gist, or raise the errors of `summarise`.

        The model reads the conversation as it was sent, if that fits, and otherwise `job` as data.
        """
        brief = yield in_thread(self._brief, job.reads, max_tokens, counter, plan.query)
        whole = yield in_thread(self._on_prefix, plan, job, brief, counter)
        talk = partial(self._read, job.reads, brief, counter)
        return (yield from self._run(partial(self._ask, whole) if whole else talk))

    asummarise_plan = twin(summarise_plan)

    def _on_prefix(
        self, plan: Plan, job: GistJob, brief: Brief, counter: TokenCounter
    ) -> Asked | None:
        """Return a request that extends the session's last one, or None if that cannot be done."""
        if not self.on_prefix:
            return None
        window, turns = plan.window, plan.window.all_turns()
        end = window.atom_columns().bounds[-2] if window.open_calls else len(turns)
        own = turns[:end]
        if not any(turn.role is not Role.SYSTEM for turn in own) or (
            any(turn.tool_calls for turn in own) and not self.tools
        ):
            return None
        sent = (*own, Turn(Role.USER, brief.of_prefix(end - max(stop for _, stop in job.runs))))
        count = self._counter(counter)
        tokens = (
            REQUEST_OVERHEAD
            + count_tools(count, self.tools)
            + sum(count_turn(count, turn) for turn in sent)
        )
        answer = self._answer_tokens(brief)
        if tokens > self._input_limit(answer):
            return None
        wire = get_format(self.provider)
        try:
            wire.check(wire.render(sent).messages)
        except InvalidMessagesError:
            return None
        return Asked(sent, answer, end, wire.options(window.epoch.unbound))

    def _read(
        self, turns: Sequence[Turn], brief: Brief, counter: TokenCounter, client: Any
    ) -> Steps[str]:
        """Summarise `turns` in pieces that fit a request, each with the notes on those before."""
        left = yield in_thread(deque, excerpts_of(turns))
        notes, number = "", 0
        while left:
            number += 1
            asked = yield in_thread(self._next, left, brief, notes, number, counter)
            notes = yield from self._ask(asked, client)
        return notes

    def _next(
        self,
        left: "deque[Excerpt]",
        brief: Brief,
        notes: str,
        number: int,
        counter: TokenCounter,
    ) -> Asked:
        """Return the request that reads as much as fits of what is left, and take that away."""
        count, answer = self._counter(counter), self._answer_tokens(brief)
        limit, role = self._input_limit(answer), Turn(Role.SYSTEM, ROLE)
        without = (role, Turn(Role.USER, brief.of_piece([], notes, number, is_last=False)))
        room = limit - REQUEST_OVERHEAD - sum(count_turn(count, turn) for turn in without)
        if room < LEAST_PIECE:
            legal = f"{LEAST_PIECE - room} more: notes and facts leave no room to read"
            raise InvalidOptionError("max_input_tokens", limit, legal)
        piece = _take(left, room, count)
        asked = brief.of_piece(piece, notes, number, is_last=not left)
        return Asked((role, Turn(Role.USER, asked)), answer)

    def _brief(
        self, turns: Sequence[Turn], max_tokens: int, counter: TokenCounter, query: str | None
    ) -> Brief:
        wanted = max(1, min(int(_SPARE * max_tokens), self.max_summary_tokens))
        told, room = list[Fact](), min(wanted // 2, MOST_FACTS)
        # Files come last, because there are many of them.
        for fact in sorted(facts_of(turns, counter), key=lambda fact: fact.head is Section.FILES):
            cost = counter.count(fact.text)
            if cost <= room:
                told.append(fact)
                room -= cost
        return Brief(
            wanted, told, clip(query[:_LONG_QUESTION], MOST_QUESTION, counter) if query else None
        )

    def _answer_tokens(self, brief: Brief) -> int:
        """Return the maximum tokens of an answer: twice its target, plus room for thinking."""
        if self._profile is None:
            return 2 * brief.max_tokens
        return min(
            self._profile.output, self._profile.window // 4, 2 * brief.max_tokens + THINKING_ROOM
        )

    def _input_limit(self, answer: int) -> int:
        """Return the maximum tokens of a request."""
        if self.max_input_tokens is not None:
            return self.max_input_tokens
        return self._profile.window - answer if self._profile else 0

    def _counter(self, counter: TokenCounter) -> TokenCounter:
        """Return the model's token counter; for an unknown model, the conversation's."""
        return counter if self._profile is None else self._profile.counter()

    def _run(self, talk: Callable[[Any], Steps[str]]) -> Steps[str]:
        """Make the requests with the caller's client, or with one opened for the purpose."""
        if self.client is None:
            opened, aopened = (
                partial(self._open_client, is_async=is_async) for is_async in (False, True)
            )
            return str((yield within(opened, aopened, talk)))
        steps = talk(self._set(self.client))
        if hasattr(self.client, "__aenter__"):
            return str((yield Effect(self._refuse, partial(adrive, steps))))
        return str((yield in_thread(drive, steps)))

    def _refuse(self) -> NoReturn:
        raise InvalidOptionError(
            "client",
            self.client,
            "one whose answers need not be awaited, or the methods that begin with an a",
        )

    def _ask(self, asked: Asked, client: Any) -> Steps[str]:
        create = partial(self._create, client, asked)
        return self._parse_answer((yield Effect(create, create)))

    def _open_client(self, *, is_async: bool) -> Any:
        """Return a client that takes its address and key from the environment."""
        return getattr(import_module(self.package), self.clients[is_async])(**self._patience)

    def _set(self, client: Any) -> Any:
        """Return the caller's client with this summariser's timeout and retries."""
        own = self._patience
        return client.with_options(**own) if own else client

    @property
    def _patience(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in (("timeout", self.timeout), ("max_retries", self.max_retries))
            if value is not None
        }

    def _parse_answer(self, answer: Any) -> str:
        usage = getattr(answer, "usage", None)
        if self.heard is not None and usage is not None:
            self.heard(usage.model_dump())
        # A report that cannot be read spoils no summary.
        with suppress(InvalidDataError):
            if usage is not None and (tokens := reported_tokens(usage)) is not None:
                report_usage(_usage_of(self.model, tokens))
        text = self._text(answer)
        if not text.strip():
            raise self._error("an empty text")
        return text

    def _error(self, *about: str) -> NoSummaryError:
        return NoSummaryError(self.model, *about)

    def _render(self, asked: Asked) -> Rendered:
        return get_format(self.provider).render(asked.turns)

    @abstractmethod
    def _create(self, client: Any, asked: Asked) -> Any:
        """Send a request; return the answer or an awaitable of it."""

    @abstractmethod
    def _text(self, answer: Any) -> str:
        """Return the text of an answer; raise `NoSummaryError` unless it is complete text."""


def _usage_of(model: str, tokens: Tokens) -> SummaryUsage:
    """Return the tokens and the list price of one answer, for the receipt of the compression."""
    cost = None
    with suppress(UnknownNameError):
        cost = cost_of(tokens, prices_of(model))
    return SummaryUsage(model, 1, tokens.input, tokens.output, tokens.read, cost)


def _take(left: "deque[Excerpt]", room: int, counter: TokenCounter) -> list[Excerpt]:
    """Pop the first excerpts that fit into `room` tokens, at least a part of the first one."""
    piece = list[Excerpt]()
    while left:
        excerpt = left[0]
        cost = _LINE + counter.count(excerpt.text)
        if cost <= room:
            piece.append(left.popleft())
            room -= cost
            continue
        if not piece:
            begun = clip(excerpt.text, room - _LINE, counter) or excerpt.text[:1]
            left[0] = Excerpt(excerpt.who, excerpt.text[len(begun) :])
            piece.append(Excerpt(excerpt.who, begun))
        break
    return piece
