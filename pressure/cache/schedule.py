"""When compressing is cheaper than going on: carried long enough, tokens cost more than sending the rest anew.

A compression makes the provider process anew what it leaves behind the unchanged head; from then on
every request is shorter. What comes is not known, so the rule is the one of lot sizing without a
forecast: order when holding has cost as much as the order will (J. J. DeMatteis and A. G. Mendoza,
"An economic lot-sizing technique", IBM Systems Journal 7, 1968, part-period balancing). Where a
conversation grows evenly that is the best moment there is (F. W. Harris, 1913), and it costs at
most twice the best where it does not and where it ends.
"""

from bisect import bisect_right

from polycontext.linearity import InvalidOptionError
from polycontext.window import ContextWindow

from ..threshold import mark_above, tokens_at
from .prices import BY_ITSELF, Prices

REQUESTS_A_TURN = 0.5
"""A question or a result is one request, its answer or call is none."""


def pays(
    window: ContextWindow,
    low: float,
    prices: Prices = BY_ITSELF,
    *,
    summary: float = 0.0,
    rest: float | None = None,
    requests_a_turn: float = REQUESTS_A_TURN,
) -> bool:
    """Tell whether compressing `window` to `low` now is cheaper than going on.

    `summary` is what writing the gist costs, in tokens at the input price. `rest` is how many
    requests are still expected, as many as since the last compression unless said. O(turns since
    then), but for the first part of the way O(1).

    Laws: never of a window that compressing would not make smaller; what is dearer to send anew is
    sent anew later.

    Raises:
        InvalidOptionError: `prices` without a price of the input.
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
    """Return how many turns the last compression left, their tokens, and those of its unchanged head; before the first, what it would leave."""
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
