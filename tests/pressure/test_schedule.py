"""The time to compress, against the best schedule in hindsight and by its laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.polynomial import ContextSession
from polycontext.pressure import FixedThreshold
from polycontext.pressure.schedule import BY_ITSELF, Prices, pays
from polycontext.window import ContextWindow, Turn
from polycontext.window.tokens.counter import EstimatingCounter

LOW = 0.5


def _window(words: list[int], max_tokens: int = 2000) -> ContextWindow:
    window = ContextWindow(max_tokens, counter=EstimatingCounter())
    for number, count in enumerate(words):
        window = window.append(Turn("assistant" if number % 2 else "user", "fish " * count))
    return window


def _due(window: ContextWindow, turn: str, prices: Prices) -> int:
    """Return after how many turns like `turn` it pays."""
    turns = 0
    while not pays(window, LOW, prices):
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
    """Dearer rewrites delay compression, and full-price reads cause it at once."""
    window = _window([1])
    usual = _due(window, "x" * 80, BY_ITSELF)
    assert _due(window, "x" * 80, Prices(1.0, read=0.1, write=1.25)) > usual
    assert _due(window, "x" * 80, Prices(1.0, read=0.05)) > usual
    assert _due(window, "x" * 80, Prices(1.0)) < usual


def test_without_an_input_price_it_is_refused() -> None:
    """Nothing would ever pay."""
    with pytest.raises(InvalidOptionError, match="above 0"):
        pays(_window([1]), LOW, Prices(0.0))


@given(words=st.lists(st.integers(0, 60), max_size=40))
def test_it_never_pays_below_the_mark_that_it_would_leave(words: list[int]) -> None:
    """However the turns are sized; nor in an empty window."""
    window = _window(words, 4000)
    if window.total_tokens <= LOW * 4000:
        assert not pays(window, LOW)
    assert not pays(_window([]), LOW)


@pytest.mark.gate
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


def test_a_price_is_a_number_of_zero_or_more() -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidOptionError, match=r"read = -1. Use a price"):
        Prices(1, read=-1)
