"""List prices of models, and the cost of a request.

Prices come from the table of models (`just models`), and from a small table here (read in November
2026) of models that charge more for long requests. Vendors change their prices: pass your own
`Prices` if you need current ones. A model in neither table has no price; prices are never guessed.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from polycontext.base import UnknownNameError
from polycontext.pressure.schedule import Prices
from polycontext.window.model_profiles import find_listed

from .prefix_cache import HOUR

_MILLION = 1_000_000

MARKED = Prices(1.0, read=0.1, write=1.25, write_long=2.0)
"""The usual ratios of Anthropic's prices, for costs in units of the input price."""


def request_cost(
    prices: Prices, *, plain: int, read: int, written: Mapping[float, int], output: int
) -> float:
    """Return the cost of one request.

    `plain` tokens are charged at the input price; `written` holds tokens by the seconds that they
    are kept.

    >>> million = 1_000_000
    >>> prices = Prices(3, 15, read=0.3, write=3.75)
    >>> request_cost(prices, plain=million, read=million, written={300.0: million}, output=0)
    7.05
    """
    is_long = prices.above is not None and plain + read + sum(written.values()) > prices.above
    asked = plain * prices.input + read * prices.read + _written(prices, written)
    return (
        asked * (prices.dearer_input if is_long else 1.0)
        + output * prices.output * (prices.dearer_output if is_long else 1.0)
    ) / _MILLION


def input_units(prices: Prices, *, plain: int, read: int, written: Mapping[float, int]) -> float:
    """Return the cost of the input of one request, in tokens at the input price."""
    cached = read * prices.read + _written(prices, written)
    return plain + cached / prices.input if prices.input else 0.0


def _written(prices: Prices, written: Mapping[float, int]) -> float:
    return sum(
        tokens * (prices.write_long if seconds >= HOUR else prices.write)
        for seconds, tokens in written.items()
    )


def prices_of(model: str) -> Prices:
    """Return the list prices of a model, in US dollars.

    Raises:
        UnknownNameError: no table has the model.

    >>> prices_of("claude-sonnet-4-5").read
    0.3
    """
    if model in TABLE:
        return TABLE[model]
    name, listed = find_listed(model) or ("", None)
    if listed is None or listed.input is None or listed.output is None:
        near = tuple(get_close_matches(model, TABLE, 2))
        raise UnknownNameError(
            "model with a price",
            model,
            near=near,
            advice="Pass your own Prices(...); polycontext.bill.prices lists the known models.",
        )
    read, write = (
        listed.input if price is None else price for price in (listed.read, listed.write)
    )
    long = 2 * listed.input if name.startswith("claude") else write
    return Prices(
        listed.input, listed.output, read=read, write=write, write_long=long, source="genai-prices"
    )


# --- the table --------------------------------------------------------------------

_LONG = 272_000


def _gpt(price: float, output: float, read: float, source: str, *, write: float = 1.25) -> Prices:
    return Prices(
        price,
        output,
        read=read,
        write=write * price,
        above=_LONG,
        dearer_input=2.0,
        dearer_output=1.5,
        source=source,
    )


_RESOLD = "docs.apiyi.com, models"
_HAIKU = "platform.claude.com, about-claude/pricing"

TABLE: Mapping[str, Prices] = {
    "claude-haiku-5-5": Prices(
        0.1,
        0.5,
        read=0.01,
        write=0.125,
        write_long=0.2,
        above=100_000,
        dearer_input=5.0,
        dearer_output=5.0,
        source=_HAIKU,
    ),
    "gpt-5.5": _gpt(
        5,
        30,
        0.5,
        "github.com/anomalyco/models.dev, providers/openai/models/gpt-5.5.toml",
        write=1.0,
    ),
    "gpt-5.6-terra": _gpt(2, 12, 0.2, _RESOLD),
    "gpt-5.6-luna": _gpt(0.2, 1.2, 0.02, _RESOLD),
    "gpt-6-sol": _gpt(2, 10, 0.2, "github.com/merefield/codexometer, release 0.18.4"),
    "gpt-6.2-sol": _gpt(2, 10, 0.1, "developers.openai.com, api/docs/models/gpt-6.2-sol"),
}
"""US dollars per million tokens of models that charge more for long requests; all other prices are
in the larger table."""
