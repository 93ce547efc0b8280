"""Three-way merges of contexts, by namespace and key.

Conflicts raise an error, so that nothing is lost silently.
"""

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any

from attrs import frozen

from polycontext.base.json_data import FrozenDict
from polycontext.linearity import UNIX_EPOCH

from .array_changes import Array, Run, diff_runs
from .change_tree import part_kind, part_value
from .context_patch import diff
from .errors import MergeConflictError, join_path, step_of
from .json_text import ABSENT, absent_to_none, is_same
from .kinds import Kind, Shape, kind_of
from .record_base import layout, with_changes
from .records import AgentContext, AuditContext


@frozen
class Sides:
    """The value at a path in the base and in the two changed contexts."""

    path: str
    base: Any
    ours: Any
    theirs: Any

    def at(self, step: str, get: Callable[[Any, str], Any], key: str) -> "Sides":
        """Return the part of the three that `get` finds by its key."""
        return Sides(
            join_path(self.path, step),
            get(self.base, key),
            get(self.ours, key),
            get(self.theirs, key),
        )

    def resolve(self, alike: Callable[[Any, Any], bool] = is_same) -> tuple[Any] | None:
        """Return the result if at most one side changed the value, or both did the same.

        Otherwise None. With `is_` it is O(1).
        """
        if alike(self.base, self.theirs) or alike(self.ours, self.theirs):
            return (self.ours,)
        return (self.theirs,) if alike(self.base, self.ours) else None

    def all_are(self, cls: Any) -> bool:
        """Return whether all three are instances of a class."""
        return (
            isinstance(self.base, cls)
            and isinstance(self.ours, cls)
            and isinstance(self.theirs, cls)
        )

    def conflict(self) -> MergeConflictError:
        """Return the error for conflicting changes."""
        return MergeConflictError(
            self.path,
            absent_to_none(self.base),
            absent_to_none(self.ours),
            absent_to_none(self.theirs),
        )


def merge(base: AgentContext, ours: AgentContext, theirs: AgentContext) -> AgentContext:
    """Return the merge of two contexts that agents made from `base`.

    Keys, and entries of maps, that only one of them changed are taken from it. Arrays of records
    with ids merge by id, other arrays by place; items that both appended are kept, ours first. The
    trail continues from ours: the additions of theirs are recorded as one diff, so that the trail
    still leads to the result.

    Laws: ``merge(a, a, b) == b == merge(a, b, a)``; patches of different keys merge to their result
    in either order.

    Raises:
        MergeConflictError: both changed one value differently; names the path and the three values.
    """
    trail = ours.audit
    own, other = (with_changes(side, audit=base.audit) for side in (ours, theirs))
    merged: AgentContext = _merge_records(Sides("$", base, own, other))
    if theirs.audit is base.audit or is_same(theirs.audit, base.audit):
        return with_changes(merged, audit=trail)
    return with_changes(
        merged, audit=_merge_trails(base.audit, ours, theirs, with_changes(merged, audit=trail))
    )


def _merge_trails(
    base: AuditContext, ours: AgentContext, theirs: AgentContext, merged: AgentContext
) -> AuditContext:
    runs = merge_arrays(
        Sides("$.audit.agent_runs", base.agent_runs, ours.audit.agent_runs, theirs.audit.agent_runs)
    )
    # Their diffs would not fit after ours, so their additions become one diff.
    new = [
        record
        for record in theirs.audit.diffs
        if not any(record is old or is_same(record, old) for old in base.diffs)
    ]
    agents = ", ".join(dict.fromkeys(record.agent_id for record in new))
    remainder = diff(
        ours,
        merged,
        agent_id=agents,
        timestamp=max((record.timestamp for record in new), default=UNIX_EPOCH),
    )
    if not (new and remainder):
        return with_changes(ours.audit, agent_runs=runs)
    return with_changes(ours.audit, agent_runs=runs, diffs=(*ours.audit.diffs, remainder.record()))


def _merge(kind: Kind, sides: Sides) -> Any:
    result = sides.resolve(is_)
    if result is not None:
        return result[0]
    if kind.shape is Shape.MAP and sides.all_are(FrozenDict):
        return _merge_entries(part_kind(kind, ""), sides)
    if kind.shape is Shape.ARRAY:
        return merge_arrays(sides)
    if kind.shape is Shape.OBJECT and sides.all_are(kind.record):
        return _merge_records(sides)
    result = sides.resolve()
    if result is None:
        raise sides.conflict()
    return result[0]


def _merge_records(sides: Sides) -> Any:
    kinds = layout(type(sides.base)).kinds
    values = {name: _merge(kind, sides.at(name, part_value, name)) for name, kind in kinds.items()}
    unknown = _merge(kind_of(Mapping[str, Any]), sides.at("", getattr, "extras"))
    return with_changes(sides.base, **values, extras=unknown)


def _merge_entries(kind: Kind, sides: Sides) -> FrozenDict[Any]:
    maps: tuple[Mapping[str, Any], ...] = (sides.ours, sides.theirs, sides.base)
    keys = dict.fromkeys(key for entries in maps for key in entries)
    values = {key: _merge(kind, sides.at(step_of(key), part_value, key)) for key in keys}
    return FrozenDict({key: value for key, value in values.items() if value is not ABSENT})


def merge_arrays(sides: Sides) -> Array:
    """Return the merge of an array that both changed.

    Raises:
        MergeConflictError: both changed one item, or one place, differently.
    """
    by_id = [_by_id(array) for array in (sides.base, sides.ours, sides.theirs)]
    base, ours, theirs = by_id
    if base is None or ours is None or theirs is None:
        return _merge_places(sides)
    # Order and content merge separately: one side may move an item that the other changes.
    order = _merge_places(Sides(sides.path, tuple(base), tuple(ours), tuple(theirs)), distinct=True)
    retained = set(order)
    if len(retained) < len(order):  # both moved one item
        raise sides.conflict()
    items = {
        id_: Sides(f"{sides.path}[{id_!a}]", base.get(id_), ours.get(id_), theirs.get(id_))
        for id_ in (*base, *order)
    }
    for id_ in base:
        if (
            id_ not in retained and items[id_].resolve() is None
        ):  # one removed what the other changed
            raise items[id_].conflict()
    return tuple(_merge_items(items[id_]) for id_ in order)


def _by_id(array: Array) -> dict[str, Any] | None:
    """Return the items of an array by id, None if an id is missing or not unique."""
    ids = [getattr(item, "id", "") for item in array]
    return dict(zip(ids, array, strict=True)) if all(ids) and len(set(ids)) == len(ids) else None


def _merge_items(sides: Sides) -> Any:
    if sides.base is None and (sides.ours is None or sides.theirs is None):
        return sides.theirs if sides.ours is None else sides.ours
    result = sides.resolve()
    if result is None or result[0] is None:  # None: one removed what the other moved
        raise sides.conflict()
    return result[0]


def _merge_places(sides: Sides, *, distinct: bool = False) -> Array:
    """Return the items that stay, and before each the items that both put there, ours first.

    With `distinct`, an item that both put in one place occurs once.
    """
    base: Array = sides.base
    ours, theirs = ([*diff_runs(base, array)] for array in (sides.ours, sides.theirs))
    if len(ours) == len(theirs) and all(map(_is_repeated, ours, theirs)):
        return tuple(sides.ours)
    repeated = [
        run for run in theirs if not distinct and any(_overlap(sides, other, run) for other in ours)
    ]
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
    """Return whether two runs change the same items in the same way.

    Raises:
        MergeConflictError: they change one of them differently.
    """
    common = range(
        max(ours.at, theirs.at), min(ours.at + len(ours.removed), theirs.at + len(theirs.removed))
    )
    if not common or not (ours.added or theirs.added):
        return False
    if _is_repeated(ours, theirs):
        return True
    raise MergeConflictError(
        f"{sides.path}[{common[0]}]", sides.base[common[0]], ours.added, theirs.added
    )


def _is_repeated(ours: Run, theirs: Run) -> bool:
    return (ours.at, len(ours.removed)) == (theirs.at, len(theirs.removed)) and is_same(
        ours.added, theirs.added
    )
