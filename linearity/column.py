"""A persistent sequence: appending gives a new one and leaves the old as it was, at one small price whatever their length.

Nothing in it is ever changed, so that any number of versions and threads may go
on from the same one: whoever appends to an old version, or throws a new one away,
costs the others nothing and leaves no trace.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Generic, Self, TypeVar

T = TypeVar("T")

_TAIL = 32
_CHUNK = 1024
_SHIFT = 10


class Column(Generic[T]):
    """Hold items in chunks: full ones of 1,024, one that is being filled by 32 at a time, and a short tail.

    An append copies the tail (at most 31 references), every 32nd one the chunk behind it,
    every 1,024th the list of chunks: some 35 references each, on average, up to millions of items.
    `length` is how many there are.

    >>> older = Column.of("ab")
    >>> newer, other = older.appended("c"), older.appended("x")
    >>> list(older), list(newer), list(other), newer[2]
    (['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'x'], 'c')
    """

    __slots__ = ("full", "length", "middle", "tail")

    def __init__(self, full: tuple[tuple[T, ...], ...] = (), middle: tuple[T, ...] = (), tail: tuple[T, ...] = (), length: int = 0) -> None:
        self.full, self.middle, self.tail, self.length = full, middle, tail, length

    @classmethod
    def of(cls, items: Iterable[T]) -> Self:
        """Return a column of `items`; O(n)."""
        found = tuple(items)
        chunked = len(found) - len(found) % _CHUNK
        # Both the chunk being filled and the full ones keep to whole tails, or places could not be computed.
        filled = len(found) - len(found) % _TAIL
        full = tuple(found[start : start + _CHUNK] for start in range(0, chunked, _CHUNK))
        return cls(full, found[chunked:filled], found[filled:], len(found))

    def appended(self, item: T) -> Self:
        """Return the column with `item` behind the last one."""
        tail, length = (*self.tail, item), self.length + 1
        if len(tail) < _TAIL:
            return type(self)(self.full, self.middle, tail, length)
        middle = self.middle + tail
        if len(middle) < _CHUNK:
            return type(self)(self.full, middle, (), length)
        return type(self)((*self.full, middle), (), (), length)

    def replaced(self, place: int, item: T) -> Self:
        """Return the column with `item` at `place`, counted from 0; copies one chunk and the list of chunks."""
        chunk, within = place >> _SHIFT, place & (_CHUNK - 1)
        if chunk < len(self.full):
            full = (*self.full[:chunk], _with(self.full[chunk], within, item), *self.full[chunk + 1 :])
            return type(self)(full, self.middle, self.tail, self.length)
        if within < len(self.middle):
            return type(self)(self.full, _with(self.middle, within, item), self.tail, self.length)
        return type(self)(self.full, self.middle, _with(self.tail, within - len(self.middle), item), self.length)

    def since(self, place: int) -> list[T]:
        """Return the items from `place` on; O(1) and what is returned."""
        if place >= self.length - len(self.tail):
            return list(self.tail[place - self.length :] if place < self.length else ())
        chunk = place >> _SHIFT
        found = list(chain(chain.from_iterable(self.full[chunk:]), self.middle, self.tail))
        return found[place - (chunk << _SHIFT) :]

    def starts_with(self, other: "Column[T]") -> bool:
        """Tell whether this is `other` with items appended; what both share is not looked into."""
        if self.full is other.full and self.middle is other.middle:
            return self.tail[: len(other.tail)] == other.tail
        known = len(other.full)
        rest = other.since(known << _SHIFT)
        return self.full[:known] == other.full and self.since(known << _SHIFT)[: len(rest)] == rest

    def __getitem__(self, place: int) -> T:
        """Return the item at `place`, counted from 0; negative places are not known here."""
        from_end = place - self.length
        if from_end >= -len(self.tail):
            if from_end >= 0:
                raise IndexError(place)
            return self.tail[from_end]
        chunk = place >> _SHIFT
        return self.full[chunk][place & (_CHUNK - 1)] if chunk < len(self.full) else self.middle[place & (_CHUNK - 1)]

    @property
    def last(self) -> T | None:
        """Return the last item, None where there is none."""
        if self.tail:
            return self.tail[-1]
        return self[self.length - 1] if self.length else None

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[T]:
        return chain(chain.from_iterable(self.full), self.middle, self.tail)


def _with(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place + 1 :])
