"""Calibration follows what a provider reports, settles, and refuses numbers that mean nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import CallerError, InvalidOptionError
from polycontext.window.tokens.counter import (
    REQUEST_OVERHEAD,
    CalibratedCounter,
    EstimatingCounter,
    TokenCounter,
    calibrate,
    count_turn,
)
from polycontext.window.turn import Turn

tokens = st.integers(1, 1_000_000)


@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=10))
def test_the_factor_is_the_ratio_of_the_sums(requests: list[tuple[int, int]]) -> None:
    """The factor is the ratio of the sums, in any order of requests."""
    counter: TokenCounter = EstimatingCounter()
    for base, reported in requests:
        counted = base * counter.factor if isinstance(counter, CalibratedCounter) else base
        counter = calibrate(counter, counted, reported)
    assert isinstance(counter, CalibratedCounter)
    assert counter.factor == pytest.approx(
        sum(reported for _, reported in requests) / sum(base for base, _ in requests)
    )
    assert counter.counter == EstimatingCounter()


def test_a_session_that_feeds_its_own_estimates_back_converges() -> None:
    """A session that is calibrated on its own estimates converges to the reported total."""
    turns = [
        Turn("user", f"message {n} of a conversation with some words in it") for n in range(50)
    ]
    reported = 1.48 * sum(EstimatingCounter().count(turn.text) for turn in turns) + 9 * len(turns)
    counter = CalibratedCounter(EstimatingCounter())
    for _ in range(40):
        counted = REQUEST_OVERHEAD + sum(count_turn(counter, turn) for turn in turns)
        counter = counter.calibrate(reported, counted)
    assert REQUEST_OVERHEAD + sum(count_turn(counter, turn) for turn in turns) == pytest.approx(
        reported, rel=0.03
    )


bad = st.sampled_from([0, -1, -0.5, float("nan"), float("inf"), -float("inf"), True, None, "12"])


@given(bad, tokens)
def test_meaningless_numbers_are_refused(number: float, fine: int) -> None:
    """A number that is not finite and above 0 is refused by name, and the counter is unchanged."""
    counter = calibrate(EstimatingCounter(), 100, 120)
    with pytest.raises(InvalidOptionError, match=r"counted = .*. Use a finite number above 0"):
        calibrate(counter, number, fine)
    with pytest.raises(InvalidOptionError, match=r"provider_reported_tokens") as caught:
        calibrate(counter, fine, number)
    with pytest.raises(InvalidOptionError, match=r"factor"):
        CalibratedCounter(counter, number)
    assert isinstance(caught.value, CallerError)
    assert isinstance(caught.value, ValueError)
    assert counter == calibrate(EstimatingCounter(), 100, 120)
