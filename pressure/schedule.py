"""Prices of tokens, and when compression is cheaper than going on without it.

After a compression, the provider has to process the part after the unchanged head again, but every
later request is shorter. Future requests are unknown, so the rule is that of lot sizing without a
forecast: order when holding has cost as much as the order will (J. J. DeMatteis and A. G. Mendoza,
"An economic lot-sizing technique", IBM Systems Journal 7, 1968, part-period balancing). If a
conversation grows evenly, that is the optimal time (F. W. Harris, 1913). Otherwise, and at the end
of the conversation, it costs at most twice the optimum.
"""

from bisect import bisect_right
from collections.abc import Collection
from math import inf

from attrs import Factory, field, frozen
from attrs.validators import optional

from polycontext.base import is_number, must_be, require
from polycontext.window import ContextWindow

from .threshold import mark_above, tokens_at

_check = must_be(
    lambda value: is_number(value, 0) and value < inf, "a price for a million tokens, 0 or more"
)

_check_seconds = must_be(lambda value: is_number(value, 0), "a number of seconds, at least 0")
_AHEAD = 30.0
"""The default of `ahead`, in seconds."""


def _ahead_of(lifetime: object) -> float:
    return min(_AHEAD, lifetime / 2) if is_number(lifetime) else _AHEAD


def _names(names: Collection[str]) -> frozenset[str]:
    fits = (
        isinstance(names, Collection)
        and not isinstance(names, str)
        and all(isinstance(name, str) for name in names)
    )
    require("boundaries", names, fits, "a list of names, such as ['run_tests']")
    return frozenset(names)


@frozen
class Prices:
    """The prices of a million tokens, in one currency.

    Args:
        input, output: of the request, and of the reply.
        read: of tokens read from the cache; `input` by default.
        write, write_long: of tokens written to the cache for less than an hour, `input` by default,
            and for longer, `write` by default.
        above: the size in tokens above which a request costs more as a whole, by the factors
            `dearer_input` and `dearer_output`.
        source: where the prices were read.

    Raises:
        InvalidOptionError: a price is not a number of 0 or more.

    >>> Prices(3, 15, read=0.3, write=3.75).write_long
    3.75
    """

    input: float = field(validator=_check)
    output: float = field(default=0.0, validator=_check)
    read: float = field(
        default=Factory(lambda own: own.input, takes_self=True), kw_only=True, validator=_check
    )
    write: float = field(
        default=Factory(lambda own: own.input, takes_self=True), kw_only=True, validator=_check
    )
    write_long: float = field(
        default=Factory(lambda own: own.write, takes_self=True), kw_only=True, validator=_check
    )
    above: int | None = field(default=None, kw_only=True)
    dearer_input: float = field(default=1.0, kw_only=True)
    dearer_output: float = field(default=1.0, kw_only=True)
    source: str = field(default="", kw_only=True)


LIFETIMES = {"anthropic": 300.0, "anthropic-1h": 3600.0, "openai": 1800.0}
"""Seconds after its last use that a provider's cache keeps a prefix, by provider and `ttl`.

Sources: platform.claude.com and developers.openai.com, "Prompt caching", read in November 2026.
OpenAI keeps some prefixes longer.
"""


@frozen
class Schedule:
    """When a session compresses beside under pressure; never while calls are open.

    Args:
        lifetime: seconds after the last turn until the provider's cache expires (`LIFETIMES`). An
            idle session compresses then: the next request is not read from the cache anyway.
        ahead: how many seconds before that a model is asked for a summary, because it still reads
            the view from the cache; by default 30, at most half of `lifetime`. An extract asks no
            model and waits for the end, so that a user who returns in time finds the view cached.
        boundaries: names of tools and of the machine's own events. A session that is half of the
            way from its low mark to the high one compresses behind the results of such a call, and
            behind such an event.

    Raises:
        InvalidOptionError: an option is out of range.

    >>> Schedule(LIFETIMES["anthropic"]).is_idle(299), Schedule(300).is_idle(300)
    (False, True)
    >>> [Schedule(300).is_idle(seconds, asks_model=True) for seconds in (269, 270, 300)]
    [False, True, False]
    """

    lifetime: float | None = field(default=None, validator=optional(_check_seconds))
    ahead: float = field(
        default=Factory(lambda own: _ahead_of(own.lifetime), takes_self=True),
        validator=_check_seconds,
    )
    boundaries: frozenset[str] = field(default=frozenset(), converter=_names)

    def __attrs_post_init__(self) -> None:
        fits = not self.lifetime or self.ahead < self.lifetime
        require("ahead", self.ahead, fits, f"fewer seconds than the lifetime of {self.lifetime}")

    def is_idle(self, seconds: float, *, asks_model: bool = False) -> bool:
        """Return whether to compress `seconds` after the last turn."""
        if self.lifetime is None:
            return False
        if asks_model:
            return self.lifetime - self.ahead <= seconds < self.lifetime
        return seconds >= self.lifetime


BY_ITSELF = Prices(1.0, read=0.1)
"""The usual ratios of OpenAI's prices."""

_SUMMARY_SHARE = 0.05

_REQUESTS_A_TURN = 0.5
"""A question or a tool result makes one request; an answer or a tool call makes none."""


def pays(window: ContextWindow, low: float, prices: Prices = BY_ITSELF) -> bool:
    """Return whether compressing `window` to `low` now is cheaper than going on.

    As many requests are expected as there were since the last compression. Takes O(turns since
    then), or O(1) as long as the cost is clearly too low.

    Laws: the result is false if compression would not make the window smaller; the more it costs to
    send the rest again, the later compression pays.

    Raises:
        InvalidOptionError: `prices` has no input price.
    """
    require("prices.input", prices.input, prices.input, "above 0")
    start, left, kept = _last_compression(window, low)
    turns, grown = len(window) - start, window.total_tokens - left
    if turns < 1 or grown <= 0:
        return False
    price = (max(prices.write, prices.input) - prices.read) * max(0, left - kept)
    if prices.read * grown * turns * _REQUESTS_A_TURN < price:
        return False
    carried = sum(
        max(0, window.seek(place).tokens - left) for place in range(start + 1, len(window) + 1)
    )
    return prices.read * carried * _REQUESTS_A_TURN >= price


def pays_idle(
    tokens: int, kept: int, prices: Prices = BY_ITSELF, *, asks_model: bool = False
) -> bool:
    """Return whether the next request, once the cache has expired, is cheaper with `kept` tokens.

    Without compression it has `tokens`. A model that writes the summary reads these from the cache,
    and writes a twentieth of them.

    Law: if the result is true, the request with the summary costs less, whatever the prices.

    >>> pays_idle(1_000, 500), pays_idle(1_000, 950, asks_model=True)
    (True, False)
    """
    saved = (tokens - kept) * max(prices.write, prices.input)
    summary = tokens * (prices.read + _SUMMARY_SHARE * prices.output) if asks_model else 0
    return saved > summary


def _last_compression(window: ContextWindow, low: float) -> tuple[int, int, int]:
    """Return how many turns the last compression left, with their tokens and those of the head.

    The head is the unchanged part.

    Before the first compression, return the values that it would leave.
    """
    since = window.turns_since_compression
    if since is not None:
        start = max(0, len(window) - since)
        return (
            start,
            window.seek(start).tokens,
            window.seek(min(start, window.epoch.first_changed or 0)).tokens,
        )
    fixed = window.facts.fixed_tokens
    left = tokens_at(mark_above(fixed / window.max_tokens, low), window.max_tokens)
    return (
        bisect_right(range(len(window)), left, key=lambda place: window.seek(place + 1).tokens),
        left,
        fixed,
    )
