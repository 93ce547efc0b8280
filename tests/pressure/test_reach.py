"""Reach: what stays recent, how much room gists get, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import InvalidOptionError
from polycontext.pressure import Reach

ILLEGAL: dict[str, dict[str, Any]] = {
    "fewer than no turns": {"keep_recent": -1},
    "half a turn": {"keep_recent": 2.5},
    "turns as text": {"keep_recent": "6"},
    "fewer than no tokens": {"keep_recent_tokens": -1},
    "half a token": {"keep_recent_tokens": 0.5},
    "no room for gists": {"gist_share": 0.0},
    "all room for gists": {"gist_share": 1.0},
    "a share that is not a number": {"gist_share": float("nan")},
    "folding single gists": {"fan_in": 1},
    "folding two and a half": {"fan_in": 2.5},
}


@pytest.mark.parametrize("options", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_an_impossible_reach_is_refused(options: dict[str, Any]) -> None:
    """The error names the option, the value and what is legal."""
    with pytest.raises(InvalidOptionError, match="legal: ") as caught:
        Reach(**options)
    assert f"{caught.value.option} = {caught.value.value!r}" in {f"{name} = {value!r}" for name, value in options.items()}
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("options", [{}, {"keep_recent": 0}, {"keep_recent_tokens": 0}, {"gist_share": 0.99, "fan_in": 2}])
def test_the_edges_are_legal(options: dict[str, Any]) -> None:
    """The smallest and the largest legal values are taken."""
    assert Reach(**options).fan_in >= 2


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.floats(0.01, 0.99))
def test_a_new_gist_takes_half_of_the_room_that_is_left(max_tokens: int, standing: int, share: float) -> None:
    """Never less than a gist needs; never more than half of what older gists left of their share."""
    cap = Reach(gist_share=share).gist_cap(max_tokens, standing)
    assert cap == 40 or standing + 2 * cap <= share * max_tokens
    assert cap >= 40
