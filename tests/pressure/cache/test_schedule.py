"""The time to compress, against the best schedule in hindsight and by its laws, and prices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.polynomial import ContextSession
from polycontext.pressure import FixedThreshold
from polycontext.pressure.cache.prefix_cache import FLOORS, rules_of
from polycontext.pressure.cache.prices import BY_ITSELF, MARKED, TABLE, Prices, prices_of
from polycontext.pressure.cache.schedule import pays
from polycontext.window import ContextWindow, Turn
from polycontext.window.model_profiles import known_models
from polycontext.window.providers import Provider
from polycontext.window.tokens.counter import EstimatingCounter

LOW = 0.5


def _window(words: list[int], max_tokens: int = 2000) -> ContextWindow:
    window = ContextWindow(max_tokens, counter=EstimatingCounter())
    for number, count in enumerate(words):
        window = window.append(Turn("assistant" if number % 2 else "user", "fish " * count))
    return window


def _due(window: ContextWindow, turn: str, prices: Prices, **options: float) -> int:
    """Return after how many turns like `turn` it pays."""
    turns = 0
    while not pays(window, LOW, prices, **options):
        window, turns = window.append(Turn("assistant", turn)), turns + 1
        assert turns < 10_000
    return turns


def test_it_pays_when_what_was_carried_costs_as_much_as_sending_anew() -> None:
    """With even growth, compressing pays once the tokens carried above the mark cost as much."""
    window = _window([1], 2000)
    turns = _due(window, "x" * 80, BY_ITSELF)
    left = 1000 - window.total_tokens
    above = [window.total_tokens + 24 * (number + 1) - 1000 for number in range(turns)]
    carried = [
        sum(max(0, tokens) for tokens in above[:count]) * 0.1 * 0.5 for count in range(turns + 1)
    ]
    assert carried[turns - 1] < 0.9 * left * 1.1
    assert carried[turns] > 0.9 * left * 0.9


def test_what_is_dearer_to_send_anew_is_sent_anew_later() -> None:
    """Dearer rewrites and summaries delay compression, and full-price reads cause it at once."""
    window = _window([1])
    usual = _due(window, "x" * 80, BY_ITSELF)
    assert _due(window, "x" * 80, MARKED) > usual
    assert _due(window, "x" * 80, BY_ITSELF, summary=1000) > usual
    assert _due(window, "x" * 80, Prices(1.0, read=0.05)) > usual
    assert _due(window, "x" * 80, Prices(1.0)) < usual
    assert _due(window, "x" * 80, BY_ITSELF, rest=1000.0) == usual


def test_for_a_few_requests_more_it_does_not_pay() -> None:
    """Where the conversation is known to end."""
    window = _window([1])
    for _ in range(200):
        window = window.append(Turn("assistant", "x" * 80))
    assert pays(window, LOW)
    assert not pays(window, LOW, rest=1)
    with pytest.raises(InvalidOptionError, match="above 0"):
        pays(window, LOW, Prices(0.0))


@given(words=st.lists(st.integers(0, 60), max_size=40))
def test_it_never_pays_below_the_mark_that_it_would_leave(words: list[int]) -> None:
    """However the turns are sized; nor in an empty window."""
    window = _window(words, 4000)
    if window.total_tokens <= LOW * 4000:
        assert not pays(window, LOW)
    assert not pays(_window([]), LOW)


def test_behind_a_compression_it_counts_from_there() -> None:
    """It does not pay at once, and pays again as the session grows, long before the high mark."""
    session = ContextSession(8000, threshold=FixedThreshold(0.95, LOW), counter=EstimatingCounter())
    compressed = list[int]()
    for number in range(1500):
        if pays(session.window, LOW):
            session.compress()
            compressed.append(number)
            assert not pays(session.window, LOW)
        session.add(
            Turn("assistant" if number % 2 else "user", f"Number {number} is {'far ' * 20} away")
        )
    assert len(compressed) > 5
    assert session.window.epoch.number == len(compressed) + 1


def test_every_price_has_its_page_and_is_of_a_model_that_is_known() -> None:
    """Reading is cheaper than sending, every price has a source, and unknown models are refused."""
    for name, prices in TABLE.items():
        assert name in known_models()
        assert prices.source
        assert 0 < prices.read < prices.input <= prices.write <= prices.write_long
    assert set(FLOORS) <= set(known_models())
    with pytest.raises(UnknownNameError, match="Did you mean 'gpt-5"):
        prices_of("gpt-5.5-large")
    with pytest.raises(InvalidOptionError, match=r"read = -1. Use a price"):
        Prices(1, read=-1)
    assert Prices(0).units(plain=5, read=5, written={}) == 0


def test_a_long_request_is_dearer_where_the_vendor_says_so() -> None:
    """All of it, the answer too; one token less is not."""
    haiku = prices_of("claude-haiku-5-5")
    long = haiku.money(plain=100_001, read=0, written={}, output=1000)
    assert long == pytest.approx((100_001 * 0.5 + 1000 * 2.5) / 1e6)
    assert haiku.money(plain=50_000, read=50_000, written={}, output=0) == pytest.approx(
        (50_000 * 0.1 + 50_000 * 0.01) / 1e6
    )
    assert prices_of("claude-opus-5").money(
        plain=0, read=0, written={300.0: 10, 3600.0: 10}, output=0
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
