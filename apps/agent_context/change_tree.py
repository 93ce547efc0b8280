"""Changes of a value: a tree that follows the document, with values only where it changed.

Every part knows the old and the new value, so it can be checked, inverted and joined without the
context it was made from. Items of arrays and JSON data are changed as a whole.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, assert_never

from attrs import frozen

from polycontext.base.json_data import FrozenDict

from .array_changes import Items, Run, apply_items, diff_items, invert_items, join_items
from .errors import at_path, origin_mismatch, step_of
from .json_text import ABSENT, absent_to_none, is_same
from .kinds import Kind, Shape, kind_of
from .record_base import Record, layout, with_changes

JSON_DATA = kind_of(Any)


@frozen
class Replacement:
    """The replacement of one value by another.

    `ABSENT` means no value, in a map or among unknown fields.
    """

    old: Any
    new: Any


@frozen
class Parts:
    """The changes of a record's fields or of a map's entries, by name.

    `size` is the number of the map's entries before the changes, None for a record.
    """

    changes: "Mapping[str, Patch]"
    size: int | None = None

    @property
    def target_size(self) -> int | None:
        """Return the number of the map's entries after the changes, None for a record."""
        if self.size is None:
            return None
        swaps = [change for change in self.changes.values() if isinstance(change, Replacement)]
        return self.size + sum((change.old is ABSENT) - (change.new is ABSENT) for change in swaps)


Patch: TypeAlias = Replacement | Parts | Items


def part_kind(kind: Kind, name: str) -> Kind:
    """Return the kind of a record's field or of a map's entry.

    Fields that the schema does not know are JSON data.
    """
    if kind.record is not None:
        return layout(kind.record).kinds.get(name, JSON_DATA)
    assert kind.item is not None
    return kind.item


def part_value(whole: Any, name: str) -> Any:
    """Return a record's field by its JSON name, or a map's entry; `ABSENT` if there is none."""
    if not isinstance(whole, Record):
        return whole.get(name, ABSENT)
    attribute = layout(type(whole)).attributes.get(name)
    return whole.extras.get(name, ABSENT) if attribute is None else getattr(whole, attribute)


def diff_values(kind: Kind, source: Any, target: Any) -> Patch | None:
    """Return the change from one value of a kind to another, None if they are the same."""
    if source is target:
        return None
    # Absence is not null: an unknown field may be present and null, so this comes before the kind.
    if source is ABSENT or target is ABSENT:
        return Replacement(source, target)
    if kind.shape is Shape.ARRAY:
        return diff_items(source, target)
    if kind.shape is Shape.MAP:
        changes = _changes(part_kind(kind, ""), source, target)
        return Parts(FrozenDict(changes), len(source)) if changes else None
    if kind.shape is Shape.OBJECT and source is not None and target is not None:
        return diff_fields(source, target)
    return None if is_same(source, target) else Replacement(source, target)


def diff_fields(source: Record, target: Record) -> Parts | None:
    """Return the changes from one record to another, None if there are none."""
    shape = layout(type(source))
    changes = {
        key: change
        for (key, kind), old, new in zip(
            shape.kinds.items(), shape.get(source), shape.get(target), strict=False
        )
        if old is not new and (change := diff_values(kind, old, new))
    }
    if source.extras is not target.extras:
        changes |= _changes(JSON_DATA, source.extras, target.extras)
    return Parts(FrozenDict(changes)) if changes else None


def _changes(kind: Kind, source: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Patch]:
    before, after = dict(source.items()), dict(target.items())
    gone = [key for key in before if key not in after]
    unshared = [key for key, value in after.items() if before.get(key, ABSENT) is not value]
    return {
        key: change
        for key in (*gone, *unshared)
        if (change := diff_values(kind, before.get(key, ABSENT), after.get(key, ABSENT)))
    }


def apply_patch(kind: Kind, patch: Patch, value: Any) -> Any:
    """Return the value after a change.

    Raises:
        InvalidDataError: the patch was made from another value.
    """
    match patch:
        case Replacement(old, new):
            if not is_same(old, value):
                raise origin_mismatch(absent_to_none(old), absent_to_none(value))
            return new
        case Items():
            return apply_items(patch, value)
        case Parts():
            return _apply_parts(kind, patch, value)
        case _:
            assert_never(patch)


def _apply_parts(kind: Kind, parts: Parts, whole: Any) -> Any:
    if parts.size is None:
        if not isinstance(whole, Record):
            raise origin_mismatch("an object", absent_to_none(whole))
    elif not isinstance(whole, Mapping) or len(whole) != parts.size:
        found = f"{len(whole)} entries" if isinstance(whole, Mapping) else absent_to_none(whole)
        raise origin_mismatch(f"{parts.size} entries", found)
    changed = {
        name: at_path(
            step_of(name), apply_patch, part_kind(kind, name), change, part_value(whole, name)
        )
        for name, change in parts.changes.items()
    }
    if not isinstance(whole, Record):
        return _merge_present(whole, changed)
    known = {name: changed[name] for name in layout(type(whole)).kinds if name in changed}
    unknown = {name: value for name, value in changed.items() if name not in known}
    extras = _merge_present(whole.extras, unknown) if unknown else whole.extras
    return with_changes(whole, **known, extras=extras)


def _merge_present(before: Mapping[str, Any], changes: Mapping[str, Any]) -> FrozenDict[Any]:
    return FrozenDict(
        {key: value for key, value in {**before, **changes}.items() if value is not ABSENT}
    )


def invert_patch(patch: Patch) -> Patch:
    """Return the change that undoes `patch`."""
    match patch:
        case Replacement(old, new):
            return Replacement(new, old)
        case Items():
            return invert_items(patch)
        case Parts(changes):
            return Parts(
                _map_changes(lambda _, change: invert_patch(change), changes), patch.target_size
            )
        case _:
            assert_never(patch)


def map_values(change: Callable[[Kind, Any], Any], kind: Kind, patch: Patch) -> Patch:
    """Return a change of a value of a kind, with each value replaced by ``change(kind, value)``."""
    match patch:
        case Replacement():
            old, new = (
                side if side is ABSENT else change(kind, side) for side in (patch.old, patch.new)
            )
            return Replacement(old, new)
        case Items(length, runs):
            changed = (
                Run(run.at, change(kind, run.removed), change(kind, run.added)) for run in runs
            )
            return Items(length, tuple(changed))
        case Parts(changes, size):
            return Parts(
                _map_changes(
                    lambda name, part: map_values(change, part_kind(kind, name), part), changes
                ),
                size,
            )
        case _:
            assert_never(patch)


def _map_changes(
    make: Callable[[str, Patch], Patch], changes: Mapping[str, Patch]
) -> FrozenDict[Patch]:
    return FrozenDict({name: make(name, change) for name, change in changes.items()})


def join_patches(kind: Kind, first: Patch, second: Patch) -> Patch | None:
    """Return the change that does `first` and then `second`, None if they cancel out.

    Raises:
        InvalidDataError: `second` does not start where `first` ends.
    """
    if isinstance(first, Items) and isinstance(second, Items):
        return join_items(first, second)
    if isinstance(first, Parts) and isinstance(second, Parts):
        return join_parts(kind, first, second)
    # One of them has a whole value, from which the other gives the rest.
    middle = (
        first.new
        if isinstance(first, Replacement)
        else second.old
        if isinstance(second, Replacement)
        else ABSENT
    )
    return diff_values(
        kind, apply_patch(kind, invert_patch(first), middle), apply_patch(kind, second, middle)
    )


def join_parts(kind: Kind, first: Parts, second: Parts) -> Parts | None:
    """Return the changes of a record or a map that do `first` and then `second`.

    None if they cancel out.
    """
    if first.target_size != second.size:
        raise origin_mismatch(f"{second.size} entries", f"{first.target_size} entries")
    both = {
        name: at_path(
            step_of(name), join_patches, part_kind(kind, name), change, second.changes[name]
        )
        for name, change in first.changes.items()
        if name in second.changes
    }
    joined = {**first.changes, **second.changes, **both}
    # Fields in the order of the document, then the others.
    fields = layout(kind.record).kinds if kind.record else ()
    names = dict.fromkeys((*(name for name in fields if name in joined), *joined))
    changes = {name: change for name in names if (change := joined[name]) is not None}
    return Parts(FrozenDict(changes), first.size) if changes else None
