"""Splices: runs of a window's turns replaced by others, in an order that every provider would accept."""

from collections.abc import Sequence

from attrs import frozen

from polycontext.linearity import InvalidOptionError, LinearityMap
from polycontext.window.turn import Turn


@frozen
class Splice:
    """Replace the turns ``start:stop`` of a window by `turns`."""

    start: int
    stop: int
    turns: tuple[Turn, ...] = ()


def check_splices(splices: Sequence[Splice], length: int, ledger: LinearityMap) -> None:
    """Raise `InvalidOptionError` unless the runs are disjoint, in order and inside, and new turns are counted and in `ledger`."""
    done = 0
    for splice in splices:
        if not done <= splice.start <= splice.stop <= length:
            raise InvalidOptionError("splices", splice, f"disjoint runs in order within {done}:{length}")
        for turn in splice.turns:
            if turn.tokens is None or turn.resource_id not in ledger:
                raise InvalidOptionError("splices", turn, "new turns that are counted and whose ids are tagged")
        done = splice.stop


def spliced(turns: Sequence[Turn], splices: Sequence[Splice]) -> list[Turn]:
    """Return `turns` with the runs replaced."""
    result: list[Turn] = []
    done = 0
    for splice in splices:
        result.extend(turns[done : splice.start])
        result.extend(splice.turns)
        done = splice.stop
    result.extend(turns[done:])
    return result
