"""Changes of a value: a tree that follows the document, with values only where it changed.

Every part knows the old and the new value, so it can be checked, inverted and joined without the
context it was made from. Items of arrays and JSON data are changed as a whole.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, assert_never

from attrs import evolve, frozen

from polycontext.base.json_data import FrozenDict

from .array_changes import Items, apply_items, diff_items, invert_items, join_items
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
class Fields:
    """The changes of a record, by JSON name."""

    changes: "Mapping[str, Patch]"


@frozen
class Entries:
    """The changes of a map of `size` entries, by key."""

    size: int
    changes: "Mapping[str, Patch]"

    @property
    def target_size(self) -> int:
        """Return the number of entries after the changes."""
        swaps = [change for change in self.changes.values() if isinstance(change, Replacement)]
        return self.size + sum((change.old is ABSENT) - (change.new is ABSENT) for change in swaps)


Patch: TypeAlias = Replacement | Fields | Entries | Items


def field_kind(record: type, key: str) -> Kind:
    """Return the kind of a record's field; fields that the schema does not know are JSON data."""
    return layout(record).kinds.get(key, JSON_DATA)


def entry_kind(kind: Kind) -> Kind:
    """Return the kind of a map's entries."""
    assert kind.item is not None
    return kind.item


def field_value(record: Record, key: str) -> Any:
    """Return a field by its JSON name, also an unknown one; `ABSENT` if there is none."""
    attribute = layout(type(record)).attributes.get(key)
    return record.extras.get(key, ABSENT) if attribute is None else getattr(record, attribute)


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
        changes = _changes(entry_kind(kind), source, target)
        return Entries(len(source), FrozenDict(changes)) if changes else None
    if kind.shape is Shape.OBJECT and source is not None and target is not None:
        return diff_fields(source, target)
    return None if is_same(source, target) else Replacement(source, target)


def diff_fields(source: Record, target: Record) -> Fields | None:
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
    return Fields(FrozenDict(changes)) if changes else None


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
        case Entries(size):
            return _apply_entries(entry_kind(kind), patch, value, size)
        case Fields():
            return apply_fields(patch, value)
        case _:
            assert_never(patch)


def apply_fields(fields: Fields, record: Any) -> Any:
    """Return the record after the changes."""
    if not isinstance(record, Record):
        raise origin_mismatch("an object", absent_to_none(record))
    cls = type(record)
    values = {
        key: at_path(
            step_of(key), apply_patch, field_kind(cls, key), change, field_value(record, key)
        )
        for key, change in fields.changes.items()
    }
    known = {key: value for key, value in values.items() if key in layout(cls).kinds}
    unknown = {key: value for key, value in values.items() if key not in known}
    # `with_changes` does not accept unknown fields; they are few, and checked again as a whole.
    result = with_changes(record, **known)
    return evolve(result, extras=_merge_present(record.extras, unknown)) if unknown else result


def _apply_entries(kind: Kind, entries: Entries, value: Any, size: int) -> FrozenDict[Any]:
    if not isinstance(value, Mapping) or len(value) != size:
        raise origin_mismatch(
            f"{size} entries",
            f"{len(value)} entries" if isinstance(value, Mapping) else absent_to_none(value),
        )
    return _merge_present(
        value,
        {
            key: at_path(step_of(key), apply_patch, kind, change, value.get(key, ABSENT))
            for key, change in entries.changes.items()
        },
    )


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
        case Entries():
            return Entries(patch.target_size, map_changes(_invert, patch.changes))
        case Fields():
            return Fields(map_changes(_invert, patch.changes))
        case _:
            assert_never(patch)


def _invert(_key: str, change: Patch) -> Patch:
    return invert_patch(change)


def map_changes(
    make: Callable[[str, Patch], Patch], changes: Mapping[str, Patch]
) -> FrozenDict[Patch]:
    """Return the results of `make` for each change, by key."""
    return FrozenDict({key: make(key, change) for key, change in changes.items()})


def join_patches(kind: Kind, first: Patch, second: Patch) -> Patch | None:
    """Return the change that does `first` and then `second`, None if they cancel out.

    Raises:
        InvalidDataError: `second` does not start where `first` ends.
    """
    if isinstance(first, Items) and isinstance(second, Items):
        return join_items(first, second)
    if isinstance(first, Fields) and isinstance(second, Fields):
        return join_fields(kind.record, first, second)
    if isinstance(first, Entries) and isinstance(second, Entries):
        if first.target_size != second.size:
            raise origin_mismatch(f"{second.size} entries", f"{first.target_size} entries")
        changes = _join_changes(first.changes, second.changes, lambda _: entry_kind(kind))
        return Entries(first.size, changes) if changes else None
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


def join_fields(record: Any, first: Fields, second: Fields) -> Fields | None:
    """Return the changes of a record that do `first` and then `second`.

    None if they cancel out.
    """
    changes = _join_changes(first.changes, second.changes, lambda key: field_kind(record, key))
    known = [key for key in layout(record).kinds if key in changes]
    unknown = [key for key in changes if key not in known]
    return (
        Fields(FrozenDict({key: changes[key] for key in (*known, *unknown)})) if changes else None
    )


def _join_changes(
    first: Mapping[str, Patch], second: Mapping[str, Patch], kind_at: Callable[[str], Kind]
) -> FrozenDict[Patch]:
    both = {
        key: at_path(step_of(key), join_patches, kind_at(key), first[key], second[key])
        for key in first
        if key in second
    }
    return FrozenDict(
        {key: change for key, change in {**first, **second, **both}.items() if change is not None}
    )
