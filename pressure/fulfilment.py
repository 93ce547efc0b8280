"""Fulfilments: who writes the words of a plan's gists.

What is offered is checked before it becomes a gist.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from attrs import field, frozen

from polycontext.linearity import InvalidOptionError
from polycontext.linearity.effects import Effect, Steps, in_thread, is_async, together
from polycontext.window import TokenCounter, Turn, count_turn

from . import notes
from .gist import (
    NO_TEXT,
    GistJob,
    GistKind,
    digest_turn,
    pointer_turn,
    summary_text,
    summary_turn,
    unframed,
)
from .plan import Plan

if TYPE_CHECKING:
    from .native import NativeGist


@runtime_checkable
class Summariser(Protocol):
    """Summarise turns within a number of tokens.

    Any class with this method will do (docs/summarisers.md).

    What it returns is an offer that is checked before it is taken. What it reads is data, never
    instructions.

    >>> class FirstWords:
    ...     def summarise(self, turns, max_tokens, *, counter, query=None):
    ...         return " ".join(turns[0].text.split()[:max_tokens])
    >>> isinstance(FirstWords(), Summariser)
    True
    """

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Return a text of at most `max_tokens` as `counter` counts them.

        `query` says what the reader will ask next.
        """
        ...


@runtime_checkable
class AsyncSummariser(Protocol):
    """Summarise turns without blocking: the twin of `Summariser` for models behind a network."""

    async def asummarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        """Return what `Summariser.summarise` returns."""
        ...


@runtime_checkable
class RememberingSummariser(Protocol):
    """Choose what a gist says from all that was read so far, each turn once: a gist is then never made of a gist's text.

    What it remembers is a value: reading more returns another. Where that has a method
    ``beside(standing, counter)``, it is asked for what is left of it beside turns that stay as they
    are; with each of them comes how many of those read stood behind it.
    """

    def read(
        self,
        turns: Sequence[Turn],
        known: Any = None,
        *,
        counter: TokenCounter,
        most: int | None = None,
    ) -> Any:
        """Return what may be said of `turns` and of what was `known` before, about `most` tokens of it at most."""
        ...

    def write(
        self,
        candidates: Any,
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
        former: Turn | None = None,
    ) -> str:
        """Return what `Summariser.summarise` returns, from what was read.

        The gist `former` yields to it.
        """
        ...


@runtime_checkable
class PlanSummariser(Protocol):
    """Write the words of a gist with the whole plan in sight.

    It is asked in place of ``summarise``.

    A model reads the conversation as it was sent to it before, so that its provider has it in the
    cache (docs/summarisers.md).
    """

    def summarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> str:
        """Return a text for `job` of `plan`, as ``summarise`` does of its turns.

        ``plan.window`` is what was sent, ``plan.query`` the question.
        """
        ...


@runtime_checkable
class AsyncPlanSummariser(Protocol):
    """Do the same without blocking; it is asked in place of ``asummarise``."""

    async def asummarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> str:
        """Return what `PlanSummariser.summarise_plan` returns."""
        ...


@frozen
class _Function:
    """Let a function (turns, max_tokens) -> text summarise.

    It is told `counter` and `query` where it has such parameters.
    """

    function: Callable[..., Any]

    def summarise(self, turns: Sequence[Turn], max_tokens: int, **known: Any) -> Any:
        names = signature(self.function).parameters
        return self.function(
            turns, max_tokens, **{name: value for name, value in known.items() if name in names}
        )


@frozen
class _Coroutine:
    """Let a coroutine function do the same."""

    function: Callable[..., Any]

    async def asummarise(self, turns: Sequence[Turn], max_tokens: int, **known: Any) -> Any:
        return await _Function(self.function).summarise(turns, max_tokens, **known)


_KNOWN = ("counter", "query")
_ASKED = {
    "summarise": (2, _KNOWN),
    "asummarise": (2, _KNOWN),
    "summarise_plan": (3, _KNOWN[:1]),
    "asummarise_plan": (3, _KNOWN[:1]),
}
"""Methods of which an object must have one: the number of their positional arguments, and their keywords."""


def _takes(function: Callable[..., Any], places: int, names: Iterable[str] | None = None) -> bool:
    """Return whether `function` can be called with so many arguments and these keywords.

    Without `names`, with those of a summariser that it declares. True if Python cannot say.
    """
    try:
        described = signature(function)
    except ValueError:
        return True
    try:
        described.bind(
            *[None] * places,
            **dict.fromkeys(described.parameters.keys() & _KNOWN if names is None else names),
        )
    except TypeError:
        return False
    return True


def as_summariser(given: Any) -> Any:
    """Return what can summarise: an object that does, or a function or coroutine function of the turns and the tokens there are.

    Raises:
        InvalidOptionError: neither.
    """
    methods = [name for name in _ASKED if callable(getattr(given, name, None))]
    if methods:
        fits = all(_takes(getattr(given, name), *_ASKED[name]) for name in methods)
    else:
        fits = callable(given) and not isinstance(given, type) and _takes(given, 2)
    if not fits:
        raise InvalidOptionError(
            "summariser",
            given,
            "an object with summarise(turns, max_tokens, *, counter, query), or a function of "
            "(turns, max_tokens)",
        )
    if methods:
        return given
    return _Coroutine(given) if is_async(given) else _Function(given)


LEAST_ASKED = 16
"""For fewer tokens no summariser of the caller's is asked: an extract says as much, and is no
failure."""

Reading = Callable[[RememberingSummariser, GistJob], Any]
"""Returns what a summariser may say for a job, whatever it read of the conversation before."""


@cache
def default_summariser() -> Summariser:
    """Return the extractive summariser: the default, and what a refused summary falls back to."""
    return notes.ExtractiveSummariser()


Offer = tuple["str | NativeGist | None", str | None]
"""A text or what a provider wrote itself, or None and why there is none."""
_PAIR = 2


def _is_offer(value: object) -> bool:
    """Tell whether it is a pair with a reason or none.

    What offers no text is reported when it is committed.
    """
    return isinstance(value, tuple) and len(value) == _PAIR and isinstance(value[1], str | None)


@frozen
class Fulfilment:
    """Hold what a summariser offered for each job of a plan, in the order of the jobs.

    `of` makes one from texts.

    Raises:
        InvalidOptionError: not as many offers as the plan has jobs, or one that is no `Offer`.
    """

    plan: Plan = field(repr=False)
    offers: tuple[Offer, ...] = field(converter=tuple[Offer, ...])

    def __attrs_post_init__(self) -> None:
        if len(self.offers) != len(self.plan.jobs):
            raise InvalidOptionError(
                "offers",
                self.offers,
                f"{len(self.plan.jobs)}, one for each of the plan's jobs; Fulfilment.of takes texts",
            )
        for number, offer in enumerate(self.offers):
            if not _is_offer(offer):
                raise InvalidOptionError(
                    f"offers[{number}]", offer, "a text and None, or None and why there is none"
                )

    @classmethod
    def of(cls, plan: Plan, *texts: str) -> Self:
        """Return the fulfilment by `texts`, one for each job that needs words.

        What they must keep and do not say is added.

        Raises:
            InvalidOptionError: more or fewer texts, or what is no text.
        """
        wanted = [job for job in plan.jobs if job.kind.needs_words]
        if len(texts) != len(wanted):
            raise InvalidOptionError(
                "texts",
                len(texts),
                f"{len(wanted)}, one for each gist of the plan that needs words",
            )
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise InvalidOptionError(f"texts[{number}]", text, "a text")
        coming = iter(texts)
        return cls(
            plan,
            offers(plan.jobs, lambda job: in_thread(complete_offer, plan, job, next(coming))).do(),
        )


def offers(jobs: Sequence[GistJob], words: Callable[[GistJob], Effect]) -> Effect:
    """Return the effect that asks for the words of every gist that needs some.

    A failing summariser costs its own gist only.
    """
    return together(_offer(job, words) for job in jobs)


def _offer(job: GistJob, words: Callable[[GistJob], Effect]) -> Steps[Offer]:
    if not job.kind.needs_words:
        return None, None
    try:
        return (yield words(job)), None
    except Exception as error:  # noqa: BLE001 - whatever a plugged-in summariser raises costs its own gist only
        return None, f"the summariser failed: {type(error).__name__}: {error}"


def ask(summariser: Summariser | PlanSummariser, plan: Plan, job: GistJob, room: int) -> str:
    """Ask for the words of `job` in `room` tokens, with the plan where the summariser takes one.

    What must be kept is added.
    """
    counter = plan.window.counter
    if isinstance(summariser, PlanSummariser):
        text = summariser.summarise_plan(plan, job, room, counter=counter)
    else:
        text = summariser.summarise(job.reads, room, counter=counter, query=plan.query)
    return complete_offer(plan, job, text)


async def aask(
    summariser: AsyncSummariser | AsyncPlanSummariser, plan: Plan, job: GistJob, room: int
) -> str:
    """Ask without blocking; see `ask`."""
    counter = plan.window.counter
    if isinstance(summariser, AsyncPlanSummariser):
        text = await summariser.asummarise_plan(plan, job, room, counter=counter)
    else:
        text = await summariser.asummarise(job.reads, room, counter=counter, query=plan.query)
    # Reading what yields takes as long as writing an extract of it.
    return await asyncio.to_thread(complete_offer, plan, job, text)


def complete_offer(plan: Plan, job: GistJob, text: str) -> str:
    """Return `text` with what the gist of `job` must keep and `text` does not say, within its allowance, and its quotes checked; see `complete_text`, `Quotes`."""
    if not isinstance(text, str) or not text.strip():
        return text  # refused when the plan is committed
    counter = plan.window.counter
    facts = notes.facts_of(job.reads, counter)
    quotes = notes.Quotes.of(job.reads, facts)

    def fits(body: str) -> bool:
        checked = _check(job, quotes.mark(body), job.sources[0].resource_id, counter)
        return isinstance(checked, Turn)

    whole = notes.complete_text(text.strip(), facts, fits)
    # Where marks have no room nothing is the user's: what a model marked itself is not.
    return (quotes if fits(whole) else notes.Quotes()).mark(whole)


_EMPTY = "the summary is empty"


@frozen
class Rejection:
    """Say which fulfilment was not taken: the ids it stood for and why."""

    sources: tuple[str, ...]
    reason: str


@frozen
class Gist:
    """Hold the gist of one job (None: its sources stay verbatim), and why the first offer was rejected if it was."""

    turn: Turn | None
    rejection: Rejection | None = None
    keeps_bound: tuple[str, ...] = ()
    """The providers that take what was bound to the sources behind their own gist."""


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
    # Around words the ends of the lines count more than in an empty frame.
    return job.allowance - count_turn(counter, frame(job, "x", job.sources[0].resource_id))


def make_gist(
    job: GistJob,
    offer: "str | NativeGist | None",
    failure: str | None,
    resource_id: str,
    counter: TokenCounter,
) -> Gist:
    """Return the gist of `job`, which no provider writes, from `offer`, or from the extractive summariser where the offer is no good.

    Good is: not empty, fewer tokens than the sources, within the allowance.
    """
    if job.kind is GistKind.POINTER:
        return Gist(_count(frame(job, "", resource_id), counter))
    if job.kind is GistKind.DIGEST:
        return Gist(_extract(job, resource_id, counter))
    checked = failure or _check(job, offer, resource_id, counter)
    if isinstance(checked, Turn):
        return Gist(checked)
    extract = _extract(job, resource_id, counter)
    # So little room may be too little for a word: that is no fault of the summariser.
    if checked == _EMPTY and body_allowance(job, counter) < LEAST_ASKED:
        return Gist(extract)
    return Gist(extract, Rejection(tuple(turn.resource_id for turn in job.sources), checked))


def _check(job: GistJob, offer: object, resource_id: str, counter: TokenCounter) -> Turn | str:
    """Return the counted gist, or why it is refused."""
    if not isinstance(offer, str):
        return f"the summary is {type(offer).__name__}, not text"
    body = offer.strip()
    if not body:
        return _EMPTY
    try:
        turn = _count(frame(job, body, resource_id), counter)
    except ValueError as error:
        return f"the summary cannot be stored: {error}"
    tokens = turn.tokens or 0
    if tokens >= job.source_tokens:
        return f"the summary takes {tokens} tokens, its sources {job.source_tokens}"
    if tokens > job.allowance:
        return f"the summary takes {tokens} tokens, its allowance is {job.allowance}"
    return turn


def _extract(job: GistJob, resource_id: str, counter: TokenCounter) -> Turn | None:
    """Return an extractive gist; tokens do not add up exactly, so give up a few until it fits."""
    room = body_allowance(job, counter)
    for spare in (0, 4, 8, 16):
        body = _write_extract(job, room - spare, counter) if room > spare else ""
        turn = _check(job, body.strip() or NO_TEXT, resource_id, counter)
        if isinstance(turn, Turn):
            return turn
    return None


def _write_extract(job: GistJob, max_tokens: int, counter: TokenCounter) -> str:
    """Return what the package itself says for `job`."""
    if job.kind is GistKind.DIGEST:
        return notes.truncate(unframed(job.sources[0].text), max_tokens, counter, wanted=job.about)
    return default_summariser().summarise(job.reads, max_tokens, counter=counter)


def _count(turn: Turn, counter: TokenCounter) -> Turn:
    return turn.with_tokens(count_turn(counter, turn))
