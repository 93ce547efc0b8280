"""What changed in an array: runs of items that gave way to others.

Items that are shared are never compared by value.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import compress, count, product
from operator import is_not
from typing import Any, TypeAlias

from attrs import evolve, frozen

from .errors import origin_mismatch
from .json_text import canonical, is_same

Array: TypeAlias = tuple[Any, ...]

_REACH = 8
_NEARBY = sorted((step for step in product(range(_REACH + 1), repeat=2) if any(step)), key=sum)
"""How far ahead to look in both arrays for where they meet again, the nearest first."""


@frozen
class Run:
    """Hold that from index `at` of the source on, `removed` gave way to `added`."""

    at: int
    removed: Array
    added: Array


@frozen
class Items:
    """Hold the runs that lead from an array of `length` items to another, in order."""

    length: int
    runs: tuple[Run, ...]

    @property
    def target_length(self) -> int:
        """Return how many items the other array has."""
        return self.length + sum(len(run.added) - len(run.removed) for run in self.runs)


def diff_runs(source: Array, target: Array) -> Iterator[Run]:
    """Yield what changed, in order; nothing if the arrays are the same."""
    i = j = 0
    while True:
        shared = shared_start(source[i:], target[j:])
        i, j = i + shared, j + shared
        if i == len(source) and j == len(target):
            return
        step = _find_meeting(source, target, i, j)
        if step is None:
            yield from (evolve(run, at=run.at + i) for run in _far_runs(source[i:], target[j:]))
            return
        yield Run(i, source[i : i + step[0]], target[j : j + step[1]])
        i, j = i + step[0], j + step[1]


def shared_start(source: Sequence[Any], target: Sequence[Any]) -> int:
    """Return how many items are the same at the beginning."""
    # What is shared passes at the speed of C; only the rest is compared by value, which costs two
    # JSON texts.
    for index in compress(count(), map(is_not, source, target)):
        if not is_same(source[index], target[index]):
            return index
    return min(len(source), len(target))


def _find_meeting(source: Array, target: Array, i: int, j: int) -> tuple[int, int] | None:
    """Return how far from here the arrays share an item, or end together; None if not nearby."""
    left, right = len(source) - i, len(target) - j
    if not (left and right):
        return left, right
    for di, dj in _NEARBY:
        if (di, dj) == (left, right) or (
            di < left and dj < right and source[i + di] is target[j + dj]
        ):
            return di, dj
    return None


def _far_runs(source: Array, target: Array) -> Iterator[Run]:
    """Yield what changed in arrays that differ widely, at the price of looking at each item."""
    end = shared_start(source[::-1], target[::-1])
    removed, added = source[: len(source) - end], target[: len(target) - end]
    # Ids are quick but tell only of shared items; what one side alone holds is known by its JSON.
    shared = set(map(id, removed)) & set(map(id, added))
    before, after = (
        [id(item) if id(item) in shared else canonical(item) for item in items]
        for items in (removed, added)
    )
    for verb, start, stop, from_, to in SequenceMatcher(None, before, after).get_opcodes():
        if verb != "equal":
            yield Run(start, removed[start:stop], added[from_:to])


def diff_items(source: Array, target: Array) -> Items | None:
    """Return what changed in an array, None if nothing did."""
    runs = tuple(diff_runs(source, target))
    return Items(len(source), runs) if runs else None


def apply_items(items: Items, source: Array) -> Array:
    """Return the array that the runs lead to.

    Raises:
        InvalidDataError: another length, or other items where the runs remove some.
    """
    _check_length(items.length, len(source))
    target: list[Any] = []
    at = 0
    for run in items.runs:
        target += [*source[at : run.at], *run.added]
        at = run.at + len(run.removed)
        found = source[run.at : at]
        index = shared_start(run.removed, found)
        if index < len(run.removed):
            raise origin_mismatch(run.removed[index], found[index], f"[{run.at + index}]")
    return (*target, *source[at:])


def _check_length(expected: int, found: int) -> None:
    if expected != found:
        raise origin_mismatch(f"{expected} items", f"{found} items")


def invert_items(items: Items) -> Items:
    """Return the runs that lead back."""
    runs: list[Run] = []
    shift = 0
    for run in items.runs:
        runs.append(Run(run.at + shift, run.added, run.removed))
        shift += len(run.added) - len(run.removed)
    return Items(items.target_length, tuple(runs))


@frozen
class _Addition:
    """Stand for an item that was added.

    One of the source, whose value is not at hand, is its index.
    """

    value: Any


_Place: TypeAlias = int | _Addition


def join_items(first: Items, second: Items) -> Items | None:
    """Return the runs that do what two others do one after the other, None if that is nothing.

    Raises:
        InvalidDataError: the second does not start where the first ends.
    """
    _check_length(second.length, first.target_length)
    # Every item of the source is followed through both by its index; `gone` holds the values of
    # those that leave.
    gone: dict[int, Any] = {}
    final = _trace_items(_trace_items([*range(first.length)], first, gone), second, gone)
    runs = tuple(_runs_of(final, gone, first.length))
    return Items(first.length, runs) if runs else None


def _trace_items(places: list[_Place], items: Items, gone: dict[int, Any]) -> list[_Place]:
    """Return the places after the runs, and remember what stood where a place of the source goes."""
    result: list[_Place] = []
    at = 0
    for run in items.runs:
        result += [*places[at : run.at], *map(_Addition, run.added)]
        for index, value in enumerate(run.removed, run.at):
            place = places[index]
            if isinstance(place, int):
                gone[place] = value
            elif not is_same(place.value, value):
                raise origin_mismatch(value, place.value, f"[{index}]")
        at = run.at + len(run.removed)
    return result + places[at:]


def _runs_of(places: list[_Place], gone: dict[int, Any], length: int) -> Iterator[Run]:
    at = 0
    added: list[Any] = []
    # The length stands for the end, which closes the last run.
    for place in (*places, length):
        if isinstance(place, _Addition):
            added.append(place.value)
            continue
        removed = tuple(gone[index] for index in range(at, place))
        if removed or added:
            yield from (evolve(run, at=run.at + at) for run in diff_runs(removed, tuple(added)))
        at, added = place + 1, []
