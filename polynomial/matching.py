"""Find one list again in another: as much of it as possible without changing the order.

This is the longest common subsequence, by Hunt and Szymanski's method, with one
addition: among the longest it takes one that finds the most of what is preferred.
"""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from attrs import frozen


@frozen
class _Chain:
    """Hold pairs of indices that rise on both sides, the last one first; `worth` counts them."""

    worth: int
    before: int
    after: int
    rest: "_Chain | None"


class _BestBelow:
    """Know the best chain that ends below any index (a Fenwick tree of maxima): both operations in O(log n)."""

    __slots__ = ("_best",)

    def __init__(self, size: int) -> None:
        self._best: list[_Chain | None] = [None] * (size + 1)

    def put(self, chain: _Chain) -> None:
        """Take in a chain that ends on ``chain.before``."""
        node = chain.before + 1
        while node < len(self._best):
            self._best[node] = _better(self._best[node], chain)
            node += node & -node

    def below(self, index: int) -> _Chain | None:
        """Return the best chain that ends on an index less than `index`."""
        best, node = None, index
        while node:
            best = _better(best, self._best[node])
            node -= node & -node
        return best


def _better(one: _Chain | None, other: _Chain | None) -> _Chain | None:
    if one is None or other is None:
        return one or other
    return other if other.worth > one.worth else one


def found_in_order(before: Sequence[str | None], after: Sequence[str | None], preferred: AbstractSet[int] = frozenset()) -> dict[int, int]:
    """Return which index of `before` an index of `after` stands for, both rising; None equals nothing.

    `preferred` are indices of `before`. Takes O((n + pairs) log n), pairs being those of equal entries.

    >>> found_in_order(["a", "b", "a"], ["b", "a", "c"])
    {0: 1, 1: 2}
    >>> found_in_order(["a", "a"], ["a"], {1})
    {0: 1}
    """
    head, tail = _ends_in_common(before, after, preferred)
    places: defaultdict[str | None, list[int]] = defaultdict(list)
    for index in range(len(before) - tail - 1, head - 1, -1):
        places[before[index]].append(index)
    places.pop(None, None)
    chain = _longest(places, after, range(head, len(after) - tail), preferred, len(before))
    found = {index: index for index in range(head)}
    pairs: list[tuple[int, int]] = []
    while chain is not None:
        pairs.append((chain.after, chain.before))
        chain = chain.rest
    found.update(reversed(pairs))
    return found | {len(after) - back: len(before) - back for back in range(tail, 0, -1)}


def _longest(
    places: dict[str | None, list[int]], after: Sequence[str | None], window: range, preferred: AbstractSet[int], size: int
) -> _Chain | None:
    best, one = _BestBelow(size), min(size, len(after)) + 1
    for index in window:
        # From the last place to the first, so that no chain holds one entry of `after` twice.
        for place in places.get(after[index], ()):
            rest = best.below(place)
            worth = one + (place in preferred) + (rest.worth if rest else 0)
            best.put(_Chain(worth, place, index, rest))
    return best.below(size)


def _ends_in_common(before: Sequence[str | None], after: Sequence[str | None], preferred: AbstractSet[int]) -> tuple[int, int]:
    """Return how many entries at both ends match one another whatever is between: equal ones, unless a preferred one lies further in."""
    shorter = min(len(before), len(after))
    last = {before[place]: place for place in sorted(preferred)}
    head = 0
    while head < shorter and before[head] == after[head] is not None and last.get(before[head], 0) <= head:
        head += 1
    first = {before[place]: place for place in sorted(preferred, reverse=True) if place >= head}
    tail = 0
    while (
        tail < shorter - head and before[~tail] == after[~tail] is not None and first.get(before[~tail], len(before)) >= len(before) + ~tail
    ):
        tail += 1
    return head, tail
