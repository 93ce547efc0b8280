"""The Store comonad: a total function from positions 0..last, and a focus.

The names are those of Haskell's ``Control.Comonad.Store``. The docstring of each function states
its laws: ``extract`` and ``extend`` (or ``duplicate`` and ``map``) form a comonad; ``seek``,
``pos`` and ``peek`` make it a store.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, Self, TypeVar, overload

from .errors import PositionError

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
S = TypeVar("S", bound="StoreComonad[Any]")


class StoreComonad(ABC, Generic[A_co]):
    """A base class that derives the comonad operations from `pos`, `last`, `peek` and `seek`."""

    __slots__ = ()

    @property
    @abstractmethod
    def pos(self) -> int:
        """Return the focused position."""

    @property
    @abstractmethod
    def last(self) -> int:
        """Return the last position; positions are 0..last."""

    @abstractmethod
    def peek(self, position: int) -> A_co:
        """Return the value at `position`.

        Law: ``s.peek(s.pos) == s.extract()``.

        Raises:
            PositionError: The position is outside 0..last.
        """

    @abstractmethod
    def seek(self, position: int) -> Self:
        """Return the same store focused on `position`, in O(1).

        Laws: ``s.seek(s.pos) == s``; ``s.seek(p).pos == p``; ``s.seek(p).seek(q) == s.seek(q)``.

        Raises:
            PositionError: The position is outside 0..last.
        """

    def extract(self) -> A_co:
        """Return the value at the focus."""
        return self.peek(self.pos)

    def peeks(self, move: Callable[[int], int]) -> A_co:
        """Return the value at the position that `move` returns for the focus."""
        return self.peek(move(self.pos))

    def seeks(self, move: Callable[[int], int]) -> Self:
        """Return the same store focused on the position that `move` returns for the focus."""
        return self.seek(move(self.pos))

    def experiment(self, positions: Callable[[int], Iterable[int]]) -> list[A_co]:
        """Return the values at the positions that `positions` returns for the focus."""
        return [self.peek(position) for position in positions(self.pos)]

    def map(self, function: Callable[[A_co], B]) -> "Store[B]":
        """Apply `function` to the value at every position; the focus stays.

        Laws: ``s.map(identity)`` has the values of s;
        ``s.map(f).map(g) == s.map(lambda a: g(f(a)))``.
        """
        return Store(partial(_mapped, self, function), self.last, self.pos)

    def extend(self, function: Callable[[Self], B]) -> "Store[B]":
        """Apply `function` to the whole store, focused on every position in turn.

        Values are computed on first access and then cached.

        Laws: ``s.extend(extract)`` has the values of s (right identity);
        ``s.extend(f).extract() == f(s)`` (left identity);
        ``s.extend(f).extend(g) == s.extend(lambda w: g(w.extend(f)))`` (associativity).
        """
        return Store(partial(_extended, self, function), self.last, self.pos)

    def duplicate(self) -> "Store[Self]":
        """Return the store of all refocused stores; no value is copied.

        Laws: ``s.duplicate().extract() == s``; ``s.duplicate().map(extract)`` has the values of s;
        ``s.duplicate().duplicate() == s.duplicate().map(duplicate)``.
        """
        return Store(self.seek, self.last, self.pos)

    # Stores are immutable, so a copy is the store itself.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def _check(self, position: int) -> int:
        if (
            isinstance(position, bool)
            or not isinstance(position, int)
            or not 0 <= position <= self.last
        ):
            raise PositionError(position, "is outside the store", f"0..{self.last}")
        return position


# Module-level functions rather than lambdas, so that derived stores can be pickled.
def _mapped(store: StoreComonad[A], function: Callable[[A], B], position: int) -> B:
    return function(store.peek(position))


def _extended(store: S, function: Callable[[S], B], position: int) -> B:
    return function(store.seek(position))


class Store(StoreComonad[A_co], Sequence[A_co]):
    """A total function over positions 0..last with a focus; also a sequence of its values.

    A store can be pickled if its function can; its values are then computed again. A copy is the
    store itself.

    >>> squares = Store(lambda position: position * position, last=4, pos=2)
    >>> squares.extract(), squares.peek(3), list(squares)
    (4, 9, [0, 1, 4, 9, 16])
    >>> squares.extend(lambda s: s.extract() + s.peek(0)).seek(3).extract()
    9
    """

    __slots__ = ("_function", "_last", "_pos", "_seen")

    def __init__(self, function: Callable[[int], A_co], last: int, pos: int = 0) -> None:
        self._function = function
        self._last = last
        self._seen: dict[int, A_co] = {}
        self._pos = self._check(pos)

    @property
    def pos(self) -> int:
        """Return the focused position."""
        return self._pos

    @property
    def last(self) -> int:
        """Return the last position; positions are 0..last."""
        return self._last

    def peek(self, position: int) -> A_co:
        """Return the value at `position`, which is computed on first access."""
        seen = self._seen
        if position not in seen:
            seen[position] = self._function(self._check(position))
        return seen[position]

    def seek(self, position: int) -> Self:
        """Return the same store focused on `position`; both share the computed values."""
        # Bypasses the constructor, so that both stores share the computed values.
        moved = object.__new__(type(self))
        moved._function, moved._last, moved._seen = self._function, self._last, self._seen
        moved._pos = self._check(position)
        return moved

    def __len__(self) -> int:
        return self._last + 1

    def __iter__(self) -> Iterator[A_co]:
        function, seen = self._function, self._seen
        for position in range(self._last + 1):
            if position not in seen:
                seen[position] = function(position)
            yield seen[position]

    @overload
    def __getitem__(self, index: int) -> A_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[A_co]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self.peek(position) for position in range(*index.indices(len(self)))]
        return self.peek(index + len(self) if index < 0 else index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Store):
            return NotImplemented
        return self._pos == other._pos and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._function, self._last, self._pos)

    def __repr__(self) -> str:
        return f"Store(last={self._last}, pos={self._pos})"
