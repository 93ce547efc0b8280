"""Reach: what stays recent, what shares of the room it has, and what is refused."""

from typing import Any

import pytest

from polycontext.base import InvalidOptionError
from polycontext.pressure import ContextProjector, Reach
from polycontext.window import Turn
from tests.pressure.samples import calls, extended, opened, result, talk, words

ILLEGAL: dict[str, dict[str, Any]] = {
    "fewer than no turns": {"keep_recent": -1},
    "half a turn": {"keep_recent": 2.5},
    "turns as text": {"keep_recent": "6"},
    "fewer than no tokens": {"keep_recent_tokens": -1},
    "half a token": {"keep_recent_tokens": 0.5},
    "less than nothing for the tail": {"recent_share": -0.01},
    "more than there is for the tail": {"recent_share": 1.01},
    "a share that is not a number": {"recent_share": float("nan")},
    "less than nothing for the newest results": {"newest_share": -1.0},
    "more than there is for the newest results": {"newest_share": 60.0},
}


@pytest.mark.parametrize("options", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_an_impossible_reach_is_refused(options: dict[str, Any]) -> None:
    """The error names the option, the value and what is legal."""
    with pytest.raises(InvalidOptionError, match="Use ") as caught:
        Reach(**options)
    assert f"{caught.value.option} = {caught.value.value!r}" in {
        f"{name} = {value!r}" for name, value in options.items()
    }
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keep_recent": 0},
        {"keep_recent_tokens": 0},
        {"recent_share": 0.0, "newest_share": 1.0},
        {"recent_share": 1, "newest_share": 0},
    ],
)
def test_the_edges_are_legal(options: dict[str, Any]) -> None:
    """The smallest and the largest legal values are taken, and a plan can be made with them."""
    window = extended(opened(), [*talk(8), calls("read"), result(0, words(1, 100))])
    done = ContextProjector(reach=Reach(**options)).compress(window, 0.1)
    assert done.reached
    assert done.gisted


def test_the_tail_is_a_share_of_the_room() -> None:
    """Short turns stay as far as the share reaches, not six of them."""
    talk = [Turn(("user", "assistant")[n % 2], f"The berth {n} is free.") for n in range(90)]
    window = extended(opened(), talk)
    assert len(ContextProjector().compress(window, 0.3).kept) > 12
    for reach in (Reach(keep_recent=0), Reach(keep_recent_tokens=60)):
        assert len(ContextProjector(reach=reach).compress(window, 0.3).kept) < 12
