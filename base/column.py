"""A persistent sequence: an append returns a new one and does not change the old one.

A column is never changed, so any number of versions and threads can append to the same one without
affecting each other. Versions share their chunks; each keeps only a tail and two short lists of its
own. An append costs the same whatever the length of the column.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Generic, Self, TypeVar

T = TypeVar("T")

_ROW, _ROW_SHIFT = 32, 5
_CHUNK, _SHIFT = 1024, 10


class Column(Generic[T]):
    """A sequence of items in full chunks of 1,024, rows of 32 and a short tail.

    An append copies the tail (at most 31 references), every 32nd append the list of rows, and every
    1,024th the list of chunks. That is about 17 references per append, on average, up to millions
    of items. `length` is the number of items.

    >>> older = Column.of("ab")
    >>> newer, other = older.appended("c"), older.appended("x")
    >>> list(older), list(newer), list(other), newer[2]
    (['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'x'], 'c')
    """

    __slots__ = ("full", "length", "rows", "tail")

    def __init__(
        self,
        full: tuple[tuple[T, ...], ...] = (),
        rows: tuple[tuple[T, ...], ...] = (),
        tail: tuple[T, ...] = (),
        length: int = 0,
    ) -> None:
        self.full, self.rows, self.tail, self.length = full, rows, tail, length

    @classmethod
    def of(cls, items: Iterable[T]) -> Self:
        """Return a column of `items`; O(n)."""
        found = tuple(items)
        chunked = len(found) - len(found) % _CHUNK
        filled = len(found) - len(found) % _ROW
        full = tuple(found[start : start + _CHUNK] for start in range(0, chunked, _CHUNK))
        rows = tuple(found[start : start + _ROW] for start in range(chunked, filled, _ROW))
        return cls(full, rows, found[filled:], len(found))

    def appended(self, item: T) -> Self:
        """Return a column with `item` added at the end."""
        tail, length = (*self.tail, item), self.length + 1
        if len(tail) < _ROW:
            return type(self)(self.full, self.rows, tail, length)
        rows = (*self.rows, tail)
        if len(rows) < _CHUNK // _ROW:
            return type(self)(self.full, rows, (), length)
        return type(self)((*self.full, tuple(chain.from_iterable(rows))), (), (), length)

    def replaced(self, place: int, item: T) -> Self:
        """Return a column with the item at index `place` replaced by `item`.

        Copies one chunk and the list of chunks.
        """
        chunk, within = place >> _SHIFT, place & (_CHUNK - 1)
        if chunk < len(self.full):
            full = _with(self.full, chunk, _with(self.full[chunk], within, item))
            return type(self)(full, self.rows, self.tail, self.length)
        row, within = within >> _ROW_SHIFT, within & (_ROW - 1)
        if row < len(self.rows):
            return type(self)(
                self.full,
                _with(self.rows, row, _with(self.rows[row], within, item)),
                self.tail,
                self.length,
            )
        return type(self)(self.full, self.rows, _with(self.tail, within, item), self.length)

    def since(self, place: int) -> list[T]:
        """Return the items from index `place` on, in time proportional to their number."""
        if place >= self.length - len(self.tail):
            return list(self.tail[place - self.length :] if place < self.length else ())
        chunk = place >> _SHIFT
        found = list(
            chain(chain.from_iterable(self.full[chunk:]), chain.from_iterable(self.rows), self.tail)
        )
        return found[place - (chunk << _SHIFT) :]

    def between(self, start: int, stop: int) -> list[T]:
        """Return the items at ``start:stop``, in time proportional to their number."""
        if stop > len(self.full) << _SHIFT:
            return self.since(start)[: max(0, stop - start)]
        first = start >> _SHIFT
        found = list(chain.from_iterable(self.full[first : ((stop - 1) >> _SHIFT) + 1]))
        return found[start - (first << _SHIFT) : stop - (first << _SHIFT)]

    def starts_with(self, other: "Column[T]") -> bool:
        """Return whether this column is `other` with items appended.

        Shared parts are not compared.
        """
        if self.full is other.full and self.rows is other.rows:
            return self.tail[: len(other.tail)] == other.tail
        known = len(other.full)
        rest = other.since(known << _SHIFT)
        return (
            self.full[:known] == other.full and self.between(known << _SHIFT, other.length) == rest
        )

    def changed_since(self, older: "Column[T]") -> list[int]:
        """Return the indices of `older` at which this column holds a different object.

        Shared chunks are not compared.
        """
        parted = [
            chunk
            for chunk, (mine, theirs) in enumerate(zip(self.full, older.full, strict=False))
            if mine is not theirs
        ]
        behind = range(min(len(self.full), len(older.full)) << _SHIFT, older.length)
        spans = (range(chunk << _SHIFT, (chunk + 1) << _SHIFT) for chunk in parted)
        places = chain(chain.from_iterable(spans), behind)
        return [place for place in places if self[place] is not older[place]]

    def __getitem__(self, place: int) -> T:
        """Return the item at index `place`; negative indices are not supported."""
        from_end = place - self.length
        if from_end >= -len(self.tail):
            if from_end >= 0:
                raise IndexError(place)
            return self.tail[from_end]
        chunk, within = place >> _SHIFT, place & (_CHUNK - 1)
        return (
            self.full[chunk][within]
            if chunk < len(self.full)
            else self.rows[within >> _ROW_SHIFT][within & (_ROW - 1)]
        )

    @property
    def last(self) -> T | None:
        """Return the last item, or None if the column is empty."""
        if self.tail:
            return self.tail[-1]
        return self[self.length - 1] if self.length else None

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[T]:
        return chain(chain.from_iterable(self.full), chain.from_iterable(self.rows), self.tail)


def _with(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place + 1 :])
