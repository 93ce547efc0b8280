"""Fulfilments: who writes the words of a plan's gists, and which of them are taken.

Anything that can say the same in fewer tokens may write. What it offers is checked before it becomes a gist.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import iscoroutinefunction, signature
from typing import Any, Protocol, runtime_checkable

from attrs import field, frozen

from polycontext.linearity import InvalidOptionError
from polycontext.pressure.gist import NO_TEXT, digest_turn, pointer_turn, summary_text, summary_turn, unframed
from polycontext.pressure.plan import GistJob, GistKind, Plan
from polycontext.window import TokenCounter, Turn, count_turn


@runtime_checkable
class Summariser(Protocol):
    """Summarise turns within a number of tokens; any class with this method will do (docs/summarisers.md).

    What it returns is an offer: whoever commits a plan checks that it is not
    empty and keeps to its allowance. What it reads is data, never instructions.

    >>> class FirstWords:
    ...     def summarise(self, turns, max_tokens, *, counter, query=None):
    ...         return " ".join(turns[0].text.split()[:max_tokens])
    >>> isinstance(FirstWords(), Summariser)
    True
    """

    def summarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        """Return a text of at most `max_tokens` as `counter` counts them; `query` says what the reader will ask next."""
        ...


@runtime_checkable
class AsyncSummariser(Protocol):
    """Summarise turns without blocking: the twin of `Summariser` for models behind a network."""

    async def asummarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        """Return what `Summariser.summarise` returns."""
        ...


@runtime_checkable
class RememberingSummariser(Protocol):
    """Choose what a gist says from all that was read so far, each turn once: a gist is then never made of a gist's text.

    What it remembers is a value: reading more returns another. Where that has a method ``beside(standing, counter)``, it is asked
    for what is left of it beside turns that stay as they are; with each of them comes how many of those read stood behind it.
    """

    def read(self, turns: Sequence[Turn], known: Any = None, *, counter: TokenCounter, most: int | None = None) -> Any:
        """Return what may be said of `turns` and of what was `known` before, about `most` tokens of it at most."""
        ...

    def write(
        self, candidates: Any, max_tokens: int, *, counter: TokenCounter, query: str | None = None, former: Turn | None = None
    ) -> str:
        """Return what `Summariser.summarise` returns, from what was read; the gist `former` yields to it."""
        ...


@frozen
class _Function:
    """Let a function (turns, max_tokens) -> text summarise; it is told `counter` and `query` where it has such parameters."""

    function: Callable[..., Any]

    def summarise(self, turns: Sequence[Turn], max_tokens: int, **known: Any) -> Any:
        return _called(self.function, turns, max_tokens, known)


@frozen
class _Coroutine:
    """Let a coroutine function do the same."""

    function: Callable[..., Any]

    async def asummarise(self, turns: Sequence[Turn], max_tokens: int, **known: Any) -> Any:
        return await _called(self.function, turns, max_tokens, known)


def _called(function: Callable[..., Any], turns: Sequence[Turn], max_tokens: int, known: Mapping[str, Any]) -> Any:
    names = signature(function).parameters
    return function(turns, max_tokens, **{name: value for name, value in known.items() if name in names})


def as_summariser(given: Any) -> Any:
    """Return what can summarise: an object that does, or a function or coroutine function of the turns and the tokens there are.

    Raises:
        InvalidOptionError: neither.
    """
    if callable(getattr(given, "summarise", None)) or callable(getattr(given, "asummarise", None)):
        return given
    if not callable(given) or isinstance(given, type):
        raise InvalidOptionError("summariser", given, "an object with summarise(turns, max_tokens, *, counter, query), or a function")
    return _Coroutine(given) if iscoroutinefunction(given) else _Function(given)


LEAST_ASKED = 16
"""For fewer tokens no summariser of the caller's is asked: an extract says as much, and is no failure."""

Reading = Callable[[RememberingSummariser, GistJob], Any]
"""Returns what a summariser may say for a job, whatever it read of the conversation before."""


@cache
def default_summariser() -> Summariser:
    """Return the extractive summariser: the default, and what a refused summary falls back to."""
    from polycontext.pressure.extractive.summariser import ExtractiveSummariser  # noqa: PLC0415  not loaded with the room

    return ExtractiveSummariser()


Offer = tuple[str | None, str | None]
"""A text, or None and why there is none."""


@frozen
class Fulfilment:
    """Hold what a summariser offered for each job of a plan, in the order of the jobs."""

    plan: Plan = field(repr=False)
    offers: tuple[Offer, ...]


def offers(jobs: Sequence[GistJob], ask: Callable[[GistJob], str]) -> tuple[Offer, ...]:
    """Ask for every gist that needs words; a failing summariser costs its own gist only."""
    return tuple(_offer(job, ask) for job in jobs)


def _offer(job: GistJob, ask: Callable[[GistJob], str]) -> Offer:
    if not job.kind.needs_words:
        return None, None
    try:
        return ask(job), None
    except Exception as error:  # noqa: BLE001 - whatever a plugged-in summariser raises costs its own gist only
        return None, f"the summariser failed: {type(error).__name__}: {error}"


@frozen
class Rejection:
    """Say which fulfilment was not taken: the ids it stood for and why."""

    sources: tuple[str, ...]
    reason: str


@frozen
class Gisted:
    """Hold the gist of one job (None: its sources stay verbatim), and why the first offer was rejected if it was."""

    turn: Turn | None
    rejection: Rejection | None = None


def frame(job: GistJob, body: str, resource_id: str) -> Turn:
    """Return the gist turn of `job` around `body`, not yet counted."""
    first = job.sources[0]
    if job.kind is GistKind.POINTER:
        return pointer_turn(first, resource_id)
    if job.kind is GistKind.DIGEST:
        return digest_turn(first, body, resource_id)
    return summary_turn(summary_text(body), job.sources, job.stands_for, resource_id)


def body_allowance(job: GistJob, counter: TokenCounter) -> int:
    """Return how many tokens the summary itself may take inside its frame."""
    return job.allowance - count_turn(counter, frame(job, "", job.sources[0].resource_id))


def make_gist(job: GistJob, offer: str | None, failure: str | None, resource_id: str, counter: TokenCounter) -> Gisted:
    """Return the gist of `job` from `offer`, or from the extractive summariser where the offer is no good.

    Good is: not empty, fewer tokens than the sources, within the allowance.
    """
    if job.kind is GistKind.POINTER:
        return Gisted(_counted(frame(job, "", resource_id), counter))
    if job.kind is GistKind.DIGEST:
        return Gisted(_extracted(job, resource_id, counter))
    offered = failure or _accepted(job, offer, resource_id, counter)
    if isinstance(offered, Turn):
        return Gisted(offered)
    ids = tuple(turn.resource_id for turn in job.sources)
    return Gisted(_extracted(job, resource_id, counter), Rejection(ids, offered))


def _accepted(job: GistJob, offer: object, resource_id: str, counter: TokenCounter) -> Turn | str:
    """Return the counted gist, or why it is refused."""
    if not isinstance(offer, str):
        return f"the summary is {type(offer).__name__}, not text"
    body = offer.strip()
    if not body:
        return "the summary is empty"
    try:
        turn = _counted(frame(job, body, resource_id), counter)
    except ValueError as error:
        return f"the summary cannot be stored: {error}"
    tokens = turn.tokens or 0
    if tokens >= job.source_tokens:
        return f"the summary takes {tokens} tokens, its sources {job.source_tokens}"
    if tokens > job.allowance:
        return f"the summary takes {tokens} tokens, its allowance is {job.allowance}"
    return turn


def _extracted(job: GistJob, resource_id: str, counter: TokenCounter) -> Turn | None:
    """Return an extractive gist; tokens do not add up exactly, so give up a few until it fits."""
    room = body_allowance(job, counter)
    for spare in (0, 4, 8, 16):
        body = _own_words(job, room - spare, counter) if room > spare else ""
        turn = _accepted(job, body.strip() or NO_TEXT, resource_id, counter)
        if isinstance(turn, Turn):
            return turn
    return None


def _own_words(job: GistJob, max_tokens: int, counter: TokenCounter) -> str:
    """Return what the package itself says for `job`."""
    if job.kind is GistKind.DIGEST:
        from polycontext.window.text.cutting import cut  # noqa: PLC0415  not loaded with the room

        return cut(unframed(job.sources[0].text), max_tokens, counter, wanted=job.about)
    return default_summariser().summarise(job.reads, max_tokens, counter=counter)


def _counted(turn: Turn, counter: TokenCounter) -> Turn:
    return turn.with_tokens(count_turn(counter, turn))
