"""Changes of an array: runs of items that replace other items.

Shared items are never compared by value.
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
"""Offsets into both arrays at which to look for an item they share, the nearest first."""


@frozen
class Run:
    """A change at index `at` of the source: `added` replaces `removed`."""

    at: int
    removed: Array
    added: Array


@frozen
class Items:
    """The runs that turn an array of `length` items into another, in order."""

    length: int
    runs: tuple[Run, ...]

    @property
    def target_length(self) -> int:
        """Return the number of items in the other array."""
        return self.length + sum(len(run.added) - len(run.removed) for run in self.runs)


def diff_runs(source: Array, target: Array) -> Iterator[Run]:
    """Yield the changes from `source` to `target` in order, none if they are the same."""
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
    """Return the number of items that are the same at the beginning."""
    # Identical items are skipped in C; only the others are compared by value, which costs two JSON
    # texts.
    for index in compress(count(), map(is_not, source, target)):
        if not is_same(source[index], target[index]):
            return index
    return min(len(source), len(target))


def _find_meeting(source: Array, target: Array, i: int, j: int) -> tuple[int, int] | None:
    """Return the offsets at which both arrays share an item or end, None if not nearby."""
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
    """Yield the changes between arrays that differ widely; every item is compared."""
    end = shared_start(source[::-1], target[::-1])
    removed, added = source[: len(source) - end], target[: len(target) - end]
    # Ids are fast but identify only shared items; an item on one side only is identified by its
    # JSON.
    shared = set(map(id, removed)) & set(map(id, added))
    before, after = (
        [id(item) if id(item) in shared else canonical(item) for item in items]
        for items in (removed, added)
    )
    for verb, start, stop, from_, to in SequenceMatcher(None, before, after).get_opcodes():
        if verb != "equal":
            yield Run(start, removed[start:stop], added[from_:to])


def diff_items(source: Array, target: Array) -> Items | None:
    """Return the changes from `source` to `target`, None if there are none."""
    runs = tuple(diff_runs(source, target))
    return Items(len(source), runs) if runs else None


def apply_items(items: Items, source: Array) -> Array:
    """Return the array after the runs.

    Raises:
        InvalidDataError: the length, or the items that the runs remove, differ.
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
    """Return the runs that undo `items`."""
    runs: list[Run] = []
    shift = 0
    for run in items.runs:
        runs.append(Run(run.at + shift, run.added, run.removed))
        shift += len(run.added) - len(run.removed)
    return Items(items.target_length, tuple(runs))


@frozen
class _Addition:
    """An item that was added.

    Items of the source, whose values are unknown here, are represented by their index.
    """

    value: Any


_Place: TypeAlias = int | _Addition


def join_items(first: Items, second: Items) -> Items | None:
    """Return the runs that do `first` and then `second`, None if they cancel out.

    Raises:
        InvalidDataError: `second` does not start where `first` ends.
    """
    _check_length(second.length, first.target_length)
    # Follow every item of the source through both by its index; `gone` has the values of those that
    # are removed.
    gone: dict[int, Any] = {}
    final = _trace_items(_trace_items([*range(first.length)], first, gone), second, gone)
    runs = tuple(_runs_of(final, gone, first.length))
    return Items(first.length, runs) if runs else None


def _trace_items(places: list[_Place], items: Items, gone: dict[int, Any]) -> list[_Place]:
    """Return the places after the runs, and record the source values they remove in `gone`."""
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
    # The length marks the end, which closes the last run.
    for place in (*places, length):
        if isinstance(place, _Addition):
            added.append(place.value)
            continue
        removed = tuple(gone[index] for index in range(at, place))
        if removed or added:
            yield from (evolve(run, at=run.at + at) for run in diff_runs(removed, tuple(added)))
        at, added = place + 1, []
