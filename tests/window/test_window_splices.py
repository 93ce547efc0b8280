"""Splices: runs of turns are replaced whole, and nothing is repeated, lost or orphaned."""

import pytest

from polycontext.base import InvalidOptionError
from polycontext.window import OrderError, Role, Splice, Turn
from tests.window.test_context_window import ASSISTANT, CALL, USER, result, window_of


def gist(resource_id: str, *sources: str) -> Turn:
    """Return a counted gist."""
    return Turn(Role.USER, "summary", resource_id=resource_id, sources=sources, tokens=5)


def test_a_splice_cannot_part_calls_from_results() -> None:
    """A splice that would leave an orphan on either side is refused and changes nothing."""
    window = window_of(USER, CALL, result("a"), result("b"), ASSISTANT)
    for start, stop in [(1, 2), (2, 3), (3, 4), (1, 3)]:
        with pytest.raises(OrderError):
            window.splice([Splice(start, stop)])
    assert len(window.splice([Splice(1, 4)])) == 2
    assert len(window) == 5


def test_a_splice_may_take_an_open_call_away() -> None:
    """With the calls their waiting ends: any turn may come next, and no result."""
    window = window_of(USER, CALL, result("a"))
    assert window.splice([]).open_calls == ("b",)
    without = window.splice([Splice(1, 3)])
    assert without.open_calls == ()
    assert len(without.append(ASSISTANT)) == 2


@pytest.mark.parametrize(
    "splices",
    [
        [Splice(3, 4), Splice(0, 1)],
        [Splice(0, 2), Splice(1, 3)],
        [Splice(2, 1)],
        [Splice(0, 9)],
        [Splice(-2, 1)],
    ],
)
def test_splices_are_disjoint_in_order_and_inside(splices: list[Splice]) -> None:
    """Overlapping, reversed or out-of-range runs are refused."""
    with pytest.raises(InvalidOptionError, match=r"within \d:4"):
        window_of(USER, ASSISTANT, USER, ASSISTANT).splice(splices)


@pytest.mark.parametrize(
    "turn",
    [Turn(Role.USER, "x", tokens=5), gist("g9", "t1"), Turn(Role.USER, "x", resource_id="t1")],
)
def test_a_spliced_turn_is_counted_and_classified(turn: Turn) -> None:
    """A new turn without an id, a class in the ledger or a count is refused."""
    with pytest.raises(
        InvalidOptionError, match="Use new turns that are counted and whose ids are tagged"
    ):
        window_of(USER, ASSISTANT).splice([Splice(0, 2, (turn,))])


def test_the_count_since_the_last_compression() -> None:
    """The count is None before the first compression, then 0, and grows by one per turn."""
    window = window_of(USER, ASSISTANT)
    assert window.turns_since_compression is None
    compressed = window.splice([], compressed=True)
    assert compressed.turns_since_compression == 0
    later = compressed.append(USER).append(ASSISTANT)
    assert later.turns_since_compression == 2
    assert later.splice([]).turns_since_compression == 2
    assert later.cleared().turns_since_compression is None
