"""List prices, and the cost of a request."""

import pytest

from polycontext.base import UnknownNameError
from polycontext.cost import cost_of, prices_of
from polycontext.cost.prices import TABLE
from polycontext.cost.reports import Tokens
from polycontext.window.model_profiles import known_models


def test_every_price_has_its_page_and_is_of_a_model_that_is_known() -> None:
    """Reading is cheaper than sending, every price has a source, and unknown models are refused."""
    for name, prices in TABLE.items():
        assert name in known_models()
        assert prices.source
        assert 0 < prices.read < prices.input <= prices.write <= prices.write_long
    with pytest.raises(UnknownNameError, match="Did you mean 'gpt-5"):
        prices_of("gpt-5.5-large")


def test_a_long_request_is_dearer_where_the_vendor_says_so() -> None:
    """All of it, the answer too; one token less is not."""
    haiku = prices_of("claude-haiku-5-5")
    long = cost_of(Tokens(100_001, output=1000), haiku)
    assert long == pytest.approx((100_001 * 0.5 + 1000 * 2.5) / 1e6)
    short = cost_of(Tokens(50_000, read=50_000), haiku)
    assert short == pytest.approx((50_000 * 0.1 + 50_000 * 0.01) / 1e6)
    written = cost_of(Tokens(written=10, written_long=10), prices_of("claude-opus-5"))
    assert written == pytest.approx(162.5 / 1e6)
