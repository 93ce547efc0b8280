"""How two changes of one array become one: runs that do not touch each other both happen."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from polycontext.nodes.agent_context._runs import Array, Run, runs_between
from polycontext.nodes.agent_context._same import present, same
from polycontext.nodes.agent_context.change_errors import MergeConflictError
from polycontext.nodes.agent_context.errors import path_under


@frozen
class Sides:
    """Hold what stood at a path, and what each of two made of it."""

    path: str
    base: Any
    ours: Any
    theirs: Any

    def at(self, step: str, get: Callable[[Any, str], Any], key: str) -> "Sides":
        """Return the part of the three that `get` finds by its key."""
        return Sides(path_under(self.path, step), get(self.base, key), get(self.ours, key), get(self.theirs, key))

    def shared(self) -> tuple[Any] | None:
        """Return the result where sharing tells that at most one of them changed something; None otherwise. O(1)."""
        if self.base is self.theirs or self.ours is self.theirs:
            return (self.ours,)
        return (self.theirs,) if self.base is self.ours else None

    def settled(self) -> tuple[Any] | None:
        """Return the result where at most one of them changed something, or both the same; None otherwise."""
        if same(self.base, self.theirs) or same(self.ours, self.theirs):
            return (self.ours,)
        return (self.theirs,) if same(self.base, self.ours) else None

    def all_are(self, cls: Any) -> bool:
        """Tell whether all three are of a class."""
        return isinstance(self.base, cls) and isinstance(self.ours, cls) and isinstance(self.theirs, cls)

    def conflict(self) -> MergeConflictError:
        """Return the refusal to choose."""
        return MergeConflictError(self.path, present(self.base), present(self.ours), present(self.theirs))


def merged_array(sides: Sides) -> Array:
    """Return what becomes of an array that both changed.

    Raises:
        MergeConflictError: both changed one item, or one place, differently.
    """
    by_id = [_by_id(array) for array in (sides.base, sides.ours, sides.theirs)]
    base, ours, theirs = by_id
    if base is None or ours is None or theirs is None:
        return _merged_places(sides)
    order = _merged_places(Sides(sides.path, tuple(base), tuple(ours), tuple(theirs)), distinct=True)
    if len(set(order)) < len(order):  # both moved one item
        raise sides.conflict()
    _check_removals(sides.path, base, ours, theirs, set(order))
    return tuple(_merged_item(Sides(f"{sides.path}[{id_!a}]", base.get(id_), ours.get(id_), theirs.get(id_))) for id_ in order)


def _by_id(array: Array) -> dict[str, Any] | None:
    """Return the items of an array by id; None if there are no ids, or one of them stands for several items."""
    ids = [getattr(item, "id", "") for item in array]
    return dict(zip(ids, array, strict=True)) if all(ids) and len(set(ids)) == len(ids) else None


def _check_removals(path: str, base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any], kept: set[str]) -> None:
    """Refuse that an item goes which the other changed."""
    for id_ in base:
        sides = Sides(f"{path}[{id_!a}]", base[id_], ours.get(id_), theirs.get(id_))
        if id_ not in kept and sides.settled() is None:
            raise sides.conflict()


def _merged_item(sides: Sides) -> Any:
    if sides.base is None and (sides.ours is None or sides.theirs is None):
        return sides.theirs if sides.ours is None else sides.ours
    settled = sides.settled()
    if settled is None or settled[0] is None:  # None: one removed what the other moved
        raise sides.conflict()
    return settled[0]


def _merged_places(sides: Sides, *, distinct: bool = False) -> Array:
    """Return the items that stay, and before each what both put there, ours first; `distinct` items only once."""
    base: Array = sides.base
    ours, theirs = ([*runs_between(base, array)] for array in (sides.ours, sides.theirs))
    if len(ours) == len(theirs) and all(map(_is_repeated, ours, theirs)):
        return tuple(sides.ours)
    repeated = [run for run in theirs if not distinct and any(_overlap(sides, other, run) for other in ours)]
    gone = {index for run in (*ours, *theirs) for index in range(run.at, run.at + len(run.removed))}
    first = {run.at: run.added for run in ours}
    second = {run.at: run.added for run in theirs if run not in repeated}
    merged: list[Any] = []
    for index in range(len(base) + 1):
        own = first.get(index, ())
        other = second.get(index, ())
        merged += [*own, *(item for item in other if not (distinct and item in own))]
        merged += base[index : index + 1] if index not in gone else ()
    return tuple(merged)


def _overlap(sides: Sides, ours: Run, theirs: Run) -> bool:
    """Tell whether two runs change the same items in the same way; raise if they change one of them differently."""
    common = range(max(ours.at, theirs.at), min(ours.at + len(ours.removed), theirs.at + len(theirs.removed)))
    if not common or not (ours.added or theirs.added):
        return False
    if _is_repeated(ours, theirs):
        return True
    raise MergeConflictError(f"{sides.path}[{common[0]}]", sides.base[common[0]], ours.added, theirs.added)


def _is_repeated(ours: Run, theirs: Run) -> bool:
    return (ours.at, len(ours.removed)) == (theirs.at, len(theirs.removed)) and same(ours.added, theirs.added)
