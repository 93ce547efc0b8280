"""Rows from an iterable, shortened in this process or on several cores."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from polycontext.base import InvalidDataError, PolycontextError, is_whole, require, with_usage

from .pieces import Done, Piece, Rejected
from .pool import Pool
from .rows import Row, RowCompressor


@with_usage
def compress_rows(
    rows: Iterable[Row],
    max_tokens: int | None = None,
    *,
    workers: int = 1,
    rejected: Callable[[Rejected], object] | None = None,
    **options: Any,
) -> Iterator[Row]:
    """Yield each row with its messages shortened, in order; takes the options of `RowCompressor`.

    At most two rows for each worker are held at a time. With several workers, a script
    needs ``if __name__ == "__main__":``, because they import it.

    Args:
        rows: objects with a column of messages, or lists of messages.
        max_tokens: the budget of a row, in tokens.
        workers: the number of processes; with 1, the rows are shortened in this process.
        rejected: called with each row that cannot be shortened, which is then left out.

    Raises:
        InvalidDataError: a row cannot be shortened, and there is no `rejected`.
        InvalidOptionError: an option is invalid.

    >>> [*compress_rows([[{"role": "user", "content": "Hello!"}]], max_tokens=100)]
    [[{'role': 'user', 'content': 'Hello!'}]]
    """
    are_several = not isinstance(rows, Mapping | str | bytes)
    require("rows", rows, are_several, "a list of rows, also for one row")
    require("rejected", rejected, rejected is None or callable(rejected), "a function, or None")
    require("workers", workers, is_whole(workers, 1), "a whole number of processes, at least 1")
    work = _RowWork(RowCompressor(max_tokens=max_tokens, **options))
    pieces = (Piece(number, number, pickle.dumps(row)) for number, row in enumerate(rows, 1))
    for done in Pool(workers).map(work, pieces):
        for each in done.rejected:
            if rejected is None:
                legal = "a row that can be shortened, or pass rejected= to leave such rows out"
                raise InvalidDataError(f"row {each.number}", each.reason, legal)
            rejected(each)
        yield from pickle.loads(done.data)  # noqa: S301 - written by our own worker


@frozen
class _RowWork:
    """Shortens a piece that is a pickled row."""

    compressor: RowCompressor

    def __call__(self, piece: Piece) -> Done:
        """Return the piece as a pickled list of the shortened row, which is empty if it is bad."""
        done, row, shortened = Done(piece), pickle.loads(piece.data), list[Row]()  # noqa: S301 - ours
        try:
            new, projection = self.compressor.compressed(row)
        except PolycontextError as error:
            done.reject(piece.start, error, row)
        else:
            shortened.append(new)
            done.figures.count(projection)
        done.data = pickle.dumps(shortened)
        return done

    def split(self, piece: Piece) -> Iterator[Piece]:
        """Yield the piece, which is one row."""
        yield piece
