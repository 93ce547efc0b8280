"""List prices of models, and the cost of a request.

Prices come from the table of models (`just models`) and from `long_requests.json`, which has models
that charge more for long requests (read in November 2026). Vendors change their prices: pass your
own `Prices` if you need current ones. A model in neither table has no price.
"""

from collections.abc import Mapping
from pathlib import Path

import orjson

from polycontext.base import UnknownNameError, similar, with_usage
from polycontext.pressure.schedule import Prices
from polycontext.window.model_profiles import find_listed

from .reports import Tokens

_LONG = orjson.loads(Path(__file__).with_name("long_requests.json").read_bytes())
TABLE: Mapping[str, Prices] = {name: Prices(**row) for name, row in _LONG.items()}
"""US dollars per million tokens of models that charge more for long requests; all other prices are
in the larger table."""


@with_usage
def cost_of(tokens: Tokens, prices: Prices) -> float:
    """Return the cost of one request.

    >>> million = 1_000_000
    >>> cost_of(Tokens(million, read=million, written=million), Prices(3, 15, read=0.3, write=3.75))
    7.05
    """
    asked = tokens.plain * prices.input + tokens.read * prices.read
    asked += tokens.written * prices.write + tokens.written_long * prices.write_long
    said = tokens.output * prices.output
    if prices.above is not None and tokens.input > prices.above:
        asked, said = asked * prices.dearer_input, said * prices.dearer_output
    return (asked + said) / 1_000_000


@with_usage
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
        near, advice = similar(model, TABLE, 2), "Pass your own Prices(...)."
        raise UnknownNameError("model with a price", model, near=near, advice=advice)
    each, source = listed.input, "genai-prices"
    read, write = (each if price is None else price for price in (listed.read, listed.write))
    long = 2 * each if name.startswith("claude") else write
    return Prices(each, listed.output, read=read, write=write, write_long=long, source=source)
