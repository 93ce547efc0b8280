"""Prices of tokens, and when compression is cheaper than going on without it.

After a compression, the provider has to process the part after the unchanged head again, but every
later request is shorter. Future requests are unknown, so the rule is that of lot sizing without a
forecast: order when holding has cost as much as the order will (J. J. DeMatteis and A. G. Mendoza,
"An economic lot-sizing technique", IBM Systems Journal 7, 1968, part-period balancing). If a
conversation grows evenly, that is the optimal time (F. W. Harris, 1913). Otherwise, and at the end
of the conversation, it costs at most twice the optimum.
"""

from bisect import bisect_right
from math import inf

from attrs import Factory, field, frozen

from polycontext.base import InvalidOptionError, is_number, must_be
from polycontext.window import ContextWindow

from .threshold import mark_above, tokens_at

_check = must_be(
    lambda value: is_number(value, 0) and value < inf, "a price for a million tokens, 0 or more"
)


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


BY_ITSELF = Prices(1.0, read=0.1)
"""The usual ratios of OpenAI's prices."""

REQUESTS_A_TURN = 0.5
"""A question or a tool result makes one request; an answer or a tool call makes none."""


def pays(
    window: ContextWindow,
    low: float,
    prices: Prices = BY_ITSELF,
    *,
    summary: float = 0.0,
    rest: float | None = None,
    requests_a_turn: float = REQUESTS_A_TURN,
) -> bool:
    """Return whether compressing `window` to `low` now is cheaper than going on.

    `summary` is the cost of writing the gist, in tokens at the input price. `rest` is the number of
    requests still expected; the default is the number since the last compression. Takes O(turns
    since then), or O(1) as long as the cost is clearly too low.

    Laws: the result is false if compression would not make the window smaller; the more it costs to
    send the rest again, the later compression pays.

    Raises:
        InvalidOptionError: `prices` has no input price.
    """
    if not prices.input:
        raise InvalidOptionError("prices.input", prices.input, "above 0")
    start, left, kept = _last_compression(window, low)
    turns, grown = len(window) - start, window.total_tokens - left
    if turns < 1 or grown <= 0:
        return False
    price = (max(prices.write, prices.input) - prices.read) * max(
        0, left - kept
    ) + summary * prices.input
    if prices.read * grown * (turns * requests_a_turn if rest is None else rest) < price:
        return False
    carried = sum(
        max(0, window.seek(place).tokens - left) for place in range(start + 1, len(window) + 1)
    )
    return prices.read * carried * requests_a_turn >= price


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
