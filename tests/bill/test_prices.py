"""List prices, the cost of a request, and the caching rules of models."""

import pytest

from polycontext.base import UnknownNameError
from polycontext.bill.prefix_cache import FLOORS, rules_of
from polycontext.bill.prices import TABLE, input_units, prices_of, request_cost
from polycontext.pressure.schedule import Prices
from polycontext.window.model_profiles import known_models
from polycontext.window.providers import Provider


def test_every_price_has_its_page_and_is_of_a_model_that_is_known() -> None:
    """Reading is cheaper than sending, every price has a source, and unknown models are refused."""
    for name, prices in TABLE.items():
        assert name in known_models()
        assert prices.source
        assert 0 < prices.read < prices.input <= prices.write <= prices.write_long
    assert set(FLOORS) <= set(known_models())
    with pytest.raises(UnknownNameError, match="Did you mean 'gpt-5"):
        prices_of("gpt-5.5-large")
    assert input_units(Prices(0), plain=5, read=5, written={}) == 0


def test_a_long_request_is_dearer_where_the_vendor_says_so() -> None:
    """All of it, the answer too; one token less is not."""
    haiku = prices_of("claude-haiku-5-5")
    long = request_cost(haiku, plain=100_001, read=0, written={}, output=1000)
    assert long == pytest.approx((100_001 * 0.5 + 1000 * 2.5) / 1e6)
    assert request_cost(haiku, plain=50_000, read=50_000, written={}, output=0) == pytest.approx(
        (50_000 * 0.1 + 50_000 * 0.01) / 1e6
    )
    assert request_cost(
        prices_of("claude-opus-5"), plain=0, read=0, written={300.0: 10, 3600.0: 10}, output=0
    ) == pytest.approx(162.5 / 1e6)


def test_rules_are_those_of_the_model_and_the_usual_ones_of_others() -> None:
    """Floors by model, half an hour from GPT-5.6 on."""
    assert [
        rules_of(Provider.ANTHROPIC, name).floor
        for name in ("claude-opus-4-6", "claude-opus-5", None, "mine")
    ] == [
        4096,
        512,
        1024,
        1024,
    ]
    assert [
        rules_of(Provider.OPENAI, name).seconds
        for name in ("gpt-5.5", "gpt-5.6-luna", "gpt-6.2-sol", None)
    ] == [300, 1800, 1800, 300]
