"""A pool gives results in order, holds few pieces, and survives the death of its workers."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from polycontext.bulk import Pool
from polycontext.bulk.pieces import Done, Piece

pytestmark = pytest.mark.gate


@frozen
class Echo:
    """Returns the data of a piece; its worker dies at a row of `deadly`, until `mark` is there."""

    deadly: bytes = b"-"
    mark: Path | None = None

    def __call__(self, piece: Piece) -> Done:
        """Return the same data."""
        if self.deadly in piece.data and not (self.mark and self.mark.exists()):
            if self.mark:
                self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        done = Done(piece, piece.data)
        done.figures.rows = piece.data.count(b"\n")
        return done

    def split(self, piece: Piece) -> Iterator[Piece]:
        """Yield the lines."""
        for number, line in enumerate(piece.data.splitlines(keepends=True), piece.start):
            yield Piece(number, piece.end, line)


def pieces(number: int) -> list[Piece]:
    """Return pieces of two rows."""
    return [Piece(2 * n + 1, n, b"a%d\nb%d\n" % (n, n)) for n in range(number)]


def test_results_come_in_order_and_few_pieces_are_held() -> None:
    """The pool takes at most two pieces for each worker from the iterator before it yields."""
    taken = list[Piece]()

    def taking() -> Iterator[Piece]:
        for piece in pieces(12):
            taken.append(piece)
            yield piece

    for index, done in enumerate(Pool(2).map(Echo(), taking())):
        assert done.piece.end == index
        assert len(taken) <= index + 4
    assert len(taken) == 12


def test_few_bytes_are_held() -> None:
    """Large pieces are held one at a time, and none of them comes back with its result."""
    taken = list[int]()

    def taking() -> Iterator[Piece]:
        for number in range(4):
            taken.append(number)
            yield Piece(number, number, b"x" * 34_000_000)

    for index, done in enumerate(Pool(2).map(Echo(), taking())):
        assert taken[-1] == index
        assert done.piece.data == b""


def test_a_worker_that_dies_once_changes_nothing(tmp_path: Path) -> None:
    """Its piece runs again; nothing is rejected, lost or doubled."""
    found = [*Pool(2).map(Echo(b"a3", tmp_path / "died"), iter(pieces(8)))]
    assert [done.data for done in found] == [piece.data for piece in pieces(8)]
    assert not any(done.rejected for done in found)


def test_a_row_at_which_workers_die_is_rejected() -> None:
    """The rows around it in its piece are done."""
    found = [*Pool(2).map(Echo(b"a3"), iter(pieces(6)))]
    assert [done.data for done in found] == [
        b"b3\n" if piece.end == 3 else piece.data for piece in pieces(6)
    ]
    ((number, reason),) = [(each.number, each.reason) for done in found for each in done.rejected]
    assert number == 7
    assert "the worker died" in reason
    assert '`if __name__ == "__main__":`' in reason
    assert sum(done.figures.rows for done in found) == 12
