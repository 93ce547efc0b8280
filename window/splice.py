"""Splices: runs of a window's turns replaced by others, in an order that every provider would accept."""

from collections.abc import Sequence

from attrs import define, frozen

from polycontext.linearity import CallerError, LinearityMap
from polycontext.window.turn import Turn


@frozen
class Splice:
    """Replace the turns ``start:stop`` of a window by `turns`."""

    start: int
    stop: int
    turns: tuple[Turn, ...] = ()


@define(slots=False, eq=False)
class SpliceError(CallerError, ValueError):
    """Refuse a splice that would repeat, lose or corrupt turns."""

    splice: Splice
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"splice of turns {self.splice.start}:{self.splice.stop}: {self.problem}; legal: {self.legal}"


def check_splices(splices: Sequence[Splice], length: int, ledger: LinearityMap) -> None:
    """Raise `SpliceError` unless the runs are disjoint, in order and inside, and new turns are counted and in `ledger`."""
    done = 0
    for splice in splices:
        if not done <= splice.start <= splice.stop <= length:
            raise SpliceError(splice, "it overlaps, runs backwards or lies outside", f"disjoint runs in order within {done}:{length}")
        for turn in splice.turns:
            if turn.tokens is None or turn.resource_id not in ledger:
                raise SpliceError(splice, f"new turn {turn.resource_id!r} lacks a count or a class", "counted turns whose ids are tagged")
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
