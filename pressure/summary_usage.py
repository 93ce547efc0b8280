"""What the model calls of a summariser used, as the summariser reports it while it writes."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from attrs import define, field, frozen
from attrs.validators import optional

from polycontext.base import is_number, is_whole, must_be, require

_MOST = 10**15
"""The largest number of a report: sums of them can be stored."""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


_text = must_be(_is_text, "the name of a model, as printable text")
_whole = must_be(lambda value: is_whole(value, 0, _MOST), f"a whole number from 0 to {_MOST:,}")
_cost = optional(
    must_be(lambda value: is_number(value, 0, _MOST), "a finite number of US dollars, or None")
)


@frozen
class SummaryUsage:
    """The model calls that wrote the summaries of one compression.

    Of the input tokens, `cached_tokens` were read from a cache. The cost is in US dollars, or None
    if the price of a call is not known.

    Raises:
        InvalidOptionError: a value is of another kind, negative, or not finite.

    >>> SummaryUsage("small", 1, 900, 30, 0, 0.003) + SummaryUsage("small", 1, 800, 20, 0, 0.002)
    SummaryUsage(model='small', calls=2, input_tokens=1700, output_tokens=50, cached_tokens=0, \
cost_usd=0.005)
    """

    model: str = field(default="", validator=_text)
    calls: int = field(default=1, validator=_whole)
    input_tokens: int = field(default=0, validator=_whole)
    output_tokens: int = field(default=0, validator=_whole)
    cached_tokens: int = field(default=0, validator=_whole)
    cost_usd: float | None = field(default=None, validator=_cost)

    def __add__(self, other: "SummaryUsage") -> "SummaryUsage":
        costs = self.cost_usd, other.cost_usd
        return SummaryUsage(
            other.model,
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
        )


@define
class _Heard:
    """The sum of what was reported; None if nothing was."""

    total: SummaryUsage | None = None


_HEARD: ContextVar[_Heard | None] = ContextVar("polycontext_summary_usage", default=None)


@contextmanager
def hearing_usage() -> Generator[_Heard]:
    """Collect what is reported in the block, also by the tasks and threads that it starts."""
    heard = _Heard()
    token = _HEARD.set(heard)
    try:
        yield heard
    finally:
        # A task that nobody finishes is closed in another context, which has no such token.
        with suppress(ValueError):
            _HEARD.reset(token)


def report_usage(usage: SummaryUsage) -> None:
    """Report a model call from inside a summariser, for the receipt of the compression.

    Outside of a compression, nothing happens. A wrong report counts as a rejected summary.

    Raises:
        InvalidOptionError: `usage` is no `SummaryUsage`.
    """
    require("usage", usage, isinstance(usage, SummaryUsage), "a SummaryUsage")
    heard = _HEARD.get()
    if heard is not None:
        heard.total = usage if heard.total is None else heard.total + usage
