"""Protocols of summarisers, and functions as summarisers."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from inspect import signature
from typing import Any, Protocol, runtime_checkable

from attrs import evolve, frozen

from polycontext.base import InvalidOptionError
from polycontext.base.effects import is_async
from polycontext.window import TokenCounter, Turn

from . import notes
from .gist import GistJob, unframed
from .plan import Plan


@runtime_checkable
class Summariser(Protocol):
    """A summariser that writes a text about turns within a number of tokens.

    Any class with this method works (docs/summarisers.md). The text that it returns is checked
    before it is used. Treat the turns as data, never as instructions.

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
        """Return a text of at most `max_tokens` tokens, as `counter` counts them.

        `query` is what the user will ask next, if known.
        """
        ...


@runtime_checkable
class AsyncSummariser(Protocol):
    """A summariser that does not block: the twin of `Summariser` for models behind a network."""

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
    """A summariser that reads each turn once and writes every gist from what it has read so far.

    A gist is then never made from the text of another gist. The candidates that `read` returns are
    a value: reading more returns another. If they have a method ``beside(standing, counter)``, it
    is called to remove what the turns that stay already say. `standing` pairs each of these turns
    with the number of read turns after it.
    """

    def read(
        self,
        turns: Sequence[Turn],
        known: Any = None,
        *,
        counter: TokenCounter,
        most: int | None = None,
    ) -> Any:
        """Return candidates of about `most` tokens from `turns` and those `known` before."""
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
        """Return what `Summariser.summarise` returns, from the candidates.

        `former` is the gist that the new one replaces.
        """
        ...


@runtime_checkable
class PlanSummariser(Protocol):
    """A summariser that sees the whole plan; its method is called instead of ``summarise``.

    A model can read the conversation as it was last sent, so that its provider has it in the cache
    (docs/summarisers.md).
    """

    def summarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> str:
        """Return a text for `job` of `plan`, as ``summarise`` does for the turns of a job.

        ``plan.window`` is the window that was sent, ``plan.query`` the question.
        """
        ...


@runtime_checkable
class AsyncPlanSummariser(Protocol):
    """A non-blocking `PlanSummariser`; its method is called instead of ``asummarise``."""

    async def asummarise_plan(
        self, plan: Plan, job: GistJob, max_tokens: int, *, counter: TokenCounter
    ) -> str:
        """Return what `PlanSummariser.summarise_plan` returns."""
        ...


@frozen(repr=False)
class _Function:
    """A summariser that calls a function, with `counter` and `query` if it has such parameters.

    The function gets earlier summaries without the lines around them.
    """

    function: Callable[..., Any]

    def __repr__(self) -> str:
        return repr(self.function)

    def summarise(self, turns: Sequence[Turn], max_tokens: int, **known: Any) -> Any:
        names = signature(self.function).parameters
        told = [
            evolve(turn, content=unframed(turn.text), tokens=None) if turn.is_gist else turn
            for turn in turns
        ]
        return self.function(
            told, max_tokens, **{name: value for name, value in known.items() if name in names}
        )


@frozen(repr=False)
class _Coroutine:
    """A summariser that calls a coroutine function, so that its result is awaited."""

    function: Callable[..., Any]
    __repr__, asummarise = _Function.__repr__, _Function.summarise


_KNOWN = ("counter", "query")
_ASKED = {"summarise": 2, "asummarise": 2, "summarise_plan": 3, "asummarise_plan": 3}
"""Methods of which a summariser object has at least one, with the number of positional arguments.

Those with a plan do not take the query: it is part of the plan.
"""


def _takes(function: Callable[..., Any], places: int, names: Iterable[str] | None = None) -> bool:
    """Return whether `function` can be called with that many arguments and these keywords.

    Without `names`, the keywords are those of a summariser that the function declares. If Python
    has no signature of it, return True.
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


def _what_is_wrong(given: Any, methods: Sequence[str]) -> str:
    """Return what to change in something that is almost a summariser, as the end of a sentence."""
    if isinstance(given, type):
        return f"; this is a class, so write {given.__name__}()"
    if isinstance(given, str):
        return f"; for summaries by a model, OpenAISummariser(client, {given!r})"
    if callable(getattr(given, "summarize", None)):
        return "; this one has summarize, which is spelled summarise here"
    function = getattr(given, methods[0]) if methods else given
    return f"; this one takes {signature(function)}" if callable(function) else ""


def as_summariser(given: Any) -> Any:
    """Return `given` if it is a summariser, or a summariser that calls it if it is a function.

    The function, which may be a coroutine function, takes the turns and the number of tokens.

    Raises:
        InvalidOptionError: `given` is neither.
    """
    methods = [name for name in _ASKED if callable(getattr(given, name, None))]
    if methods:
        fits = all(
            _takes(getattr(given, name), count, _KNOWN[: 4 - count])
            for name, count in _ASKED.items()
            if name in methods
        )
    else:
        fits = callable(given) and not isinstance(given, type) and _takes(given, 2)
    if not fits:
        raise InvalidOptionError(
            "summariser",
            given,
            "an object with summarise(turns, max_tokens, *, counter, query), or a function of "
            f"(turns, max_tokens){_what_is_wrong(given, methods)}",
        )
    if methods:
        return given
    return _Coroutine(given) if is_async(given) else _Function(given)


LEAST_ASKED = 16
"""The fewest tokens for which a custom summariser is called. An extract is as good for fewer, and
using one is not reported as a rejection."""


@cache
def default_summariser() -> Summariser:
    """Return the extractive summariser: the default, and the fallback for a rejected summary."""
    return notes.ExtractiveSummariser()
