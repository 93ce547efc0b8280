"""Turns of a log that a store holds: read when they are first looked at, some hundred at a time, and kept from then on."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import overload

from polycontext.linearity import InvalidDataError
from polycontext.window import Turn

Part = tuple[int, int, int]
"""How many turns came before, and the first and the last event with which these came."""


class StoredTurns(Sequence[Turn]):
    """Hold the turns of a log in parts, none of them empty, each read by ``read(first event, last event)``; immutable but for what has been read.

    >>> turns = [Turn("user", "one"), Turn("assistant", "two"), Turn("user", "three")]
    >>> stored = StoredTurns([(0, 1, 2), (2, 3, 3)], 3, lambda first, last: tuple(turns[first - 1 : last]))
    >>> stored[2].text, [turn.text for turn in stored]
    ('three', ['one', 'two', 'three'])
    """

    __slots__ = ("_length", "_parts", "_read", "_starts", "_turns")

    def __init__(self, parts: Sequence[Part], length: int, read: Callable[[int, int], tuple[Turn, ...]]) -> None:
        self._parts = parts
        self._starts = [start for start, _, _ in parts]
        self._length, self._read = length, read
        self._turns: dict[int, tuple[Turn, ...]] = {}

    def _part(self, number: int) -> tuple[Turn, ...]:
        found = self._turns.get(number)
        if found is None:
            start, first, last = self._parts[number]
            stop = self._starts[number + 1] if number + 1 < len(self._starts) else self._length
            found = self._read(first, last)
            if len(found) != stop - start:
                raise InvalidDataError(
                    "log", f"{len(found)} turns came with events {first}..{last}", f"{stop - start}, as the snapshot says"
                )
            # Whoever was first is kept: a turn is one object, however many threads have read it.
            found = self._turns.setdefault(number, found)
        return found

    @overload
    def __getitem__(self, index: int) -> Turn: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Turn, ...]: ...
    def __getitem__(self, index: int | slice) -> Turn | tuple[Turn, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(self._length)))
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(index)
        number = bisect_right(self._starts, place) - 1
        return self._part(number)[place - self._starts[number]]

    def __iter__(self) -> Iterator[Turn]:
        return chain.from_iterable(map(self._part, range(len(self._parts))))

    def __len__(self) -> int:
        return self._length
