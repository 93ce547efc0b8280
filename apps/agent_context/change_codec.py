"""Patches as JSON: in `ContextDiff.changes`, and as a JSON Patch (RFC 6902) of the document.

Changes nest like the namespaces and keys of the document. ``{"old", "new"}`` is a value that was
replaced (one of them is left out if there is none), ``{"length", "items"}`` an array, ``{"size",
"entries"}`` a map and ``{"fields"}`` a record.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, assert_never

from attrs import asdict

from polycontext.base import InvalidDataError
from polycontext.base.json_data import FrozenDict, check_text

from .array_changes import Items, Run
from .change_tree import Parts, Patch, Replacement, part_kind
from .codec import set_aside_extras
from .errors import at_path, step_of, wrong_type
from .json_text import ABSENT, plain
from .kinds import Kind, Shape, kind_of
from .record_base import layout
from .records import AgentContext
from .schema import SCHEMA

ValueReader: TypeAlias = Callable[[Kind, Any], Any]
CONTEXT = kind_of(AgentContext)


def strict_value(kind: Kind, data: Any) -> Any:
    """Return a value of a kind; unknown fields are refused."""
    return kind.read(data)


def lenient_value(kind: Kind, data: Any) -> Any:
    """Return a value of a kind; unknown fields are kept."""
    # The trail has tuples and frozen maps; `set_aside_extras` needs the lists and dicts of a
    # document.
    return kind.read(set_aside_extras(kind, plain(data)))


def changes_to_json(parts: Parts) -> dict[str, Any]:
    """Return the changes of a context as JSON data."""
    return {
        name: _all_to_json(change.changes) if isinstance(change, Parts) else _to_json(change)
        for name, change in parts.changes.items()
    }


def _all_to_json(changes: Mapping[str, Patch]) -> dict[str, Any]:
    return {key: _to_json(change) for key, change in changes.items()}


def _to_json(patch: Patch) -> dict[str, Any]:
    match patch:
        case Replacement(old, new):
            sides = {"old": old, "new": new}
            return {name: plain(value) for name, value in sides.items() if value is not ABSENT}
        case Items(length, runs):
            return {"length": length, "items": [plain(asdict(run, recurse=False)) for run in runs]}
        case Parts(changes, None):
            return {"fields": _all_to_json(changes)}
        case Parts(changes, size):
            return {"size": size, "entries": _all_to_json(changes)}
        case _:
            assert_never(patch)


def changes_from_json(data: Any, read: ValueReader) -> Parts:
    """Return the changes of a context that JSON data describes.

    Raises:
        InvalidDataError: the data does not describe changes; names the path.
    """

    def change(name: str, value: Any) -> Patch:
        kind = part_kind(CONTEXT, name)
        if name in SCHEMA:
            return Parts(_parts(kind, value, read))
        return _from_json(kind, value, read, unknown=name not in layout(AgentContext).kinds)

    return Parts(_read_changes(data, change))


def _from_json(kind: Kind, data: Any, read: ValueReader, *, unknown: bool) -> Patch:
    """Return a change of a value of a kind.

    `unknown` means that the value may be missing, before or after.
    """
    if not isinstance(data, Mapping):
        raise InvalidDataError("", f"{type(data).__name__} is not a change", _LEGAL)
    if kind.shape is Shape.ARRAY and "items" in data:
        return _items(kind, data, read)
    if kind.shape is Shape.MAP and "entries" in data:
        _check_keys(data, "size", "entries")
        return Parts(_parts(kind, data["entries"], read), _index(data, "size"))
    if kind.shape is Shape.OBJECT and "fields" in data:
        _check_keys(data, "fields")
        return Parts(_parts(kind, data["fields"], read))
    sides = ("old", "new")
    if not (data and data.keys() <= {*sides} and (unknown or len(data) == len(sides))):
        raise InvalidDataError(
            "", f"no change: {', '.join(map(step_of, data)) or 'empty'}"[:80], _LEGAL
        )
    values = {
        name: at_path(name, read, kind, data[name]) if name in data else ABSENT for name in sides
    }
    return Replacement(**values)


_LEGAL = "old and new; length and items of an array; size and entries of a map; fields of a record"


def _parts(kind: Kind, data: Any, read: ValueReader) -> FrozenDict[Patch]:
    known = layout(kind.record).kinds if kind.record else ()
    return _read_changes(
        data,
        lambda name, value: _from_json(
            part_kind(kind, name), value, read, unknown=name not in known
        ),
    )


def _items(kind: Kind, data: Mapping[str, Any], read: ValueReader) -> Items:
    _check_keys(data, "length", "items")
    length, runs = _index(data, "length"), data["items"]
    if not isinstance(runs, (list, tuple)):
        raise wrong_type(runs, "an array", "a list of at, removed and added", "items")
    found = tuple(
        at_path(f"items[{index}]", _run, kind, run, read) for index, run in enumerate(runs)
    )
    # Runs that overlap would remove an item twice.
    ends = [0, *(run.at + len(run.removed) for run in found)]
    if any(run.at < end for run, end in zip(found, ends, strict=False)) or ends[-1] > length:
        raise InvalidDataError(
            "items", "overlap or exceed the length", "runs in order, within the length"
        )
    return Items(length, found)


def _run(kind: Kind, data: Any, read: ValueReader) -> Run:
    if not isinstance(data, Mapping):
        raise wrong_type(data, "an object", "at, removed and added")
    _check_keys(data, "at", "removed", "added")
    return Run(
        _index(data, "at"),
        at_path("removed", read, kind, data["removed"]),
        at_path("added", read, kind, data["added"]),
    )


def _read_changes(data: Any, change: Callable[[str, Any], Patch]) -> FrozenDict[Patch]:
    if not isinstance(data, Mapping):
        raise wrong_type(data, "an object", "changes by name")
    return FrozenDict(
        {check_text(key): at_path(step_of(key), change, key, value) for key, value in data.items()}
    )


def _check_keys(data: Mapping[str, Any], *keys: str) -> None:
    if set(data) != set(keys):
        raise InvalidDataError(
            "", f"has {', '.join(map(step_of, data))}"[:80], f"{', '.join(keys)}"
        )


def _index(data: Mapping[str, Any], key: str) -> int:
    number = data[key]
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InvalidDataError(key, f"{number!r:.40} is not a position", "a whole number from 0")
    return number


Operation: TypeAlias = dict[str, Any]
Test: TypeAlias = Callable[[Any], bool]


def operations(kind: Kind, parts: Parts, pointer: str = "") -> Iterator[Operation]:
    """Yield the JSON Patch operations for the changes of a record or a map at `pointer`.

    Each follows a test of the value that it changes. Values are not yet plain JSON data.
    """
    known = layout(kind.record).kinds if kind.record else ()
    for name, change in parts.changes.items():
        part = part_kind(kind, name)
        is_shown = _is_written(part) if name in known else _is_present
        yield from _change(part, change, _below(pointer, name), is_shown)


def _change(kind: Kind, patch: Patch, pointer: str, is_shown: Test) -> Iterator[Operation]:
    match patch:
        case Replacement(old, new):
            yield from _swap(
                pointer, *(value if is_shown(value) else ABSENT for value in (old, new))
            )
        case Items(length, runs) if length and patch.target_length:
            # From the back, so that the places of earlier items stay valid.
            for run in reversed(runs):
                yield from _change_items(run, pointer)
        case Items(length, runs):
            removed = tuple(item for run in runs for item in run.removed)
            added = tuple(item for run in runs for item in run.added)
            yield from _swap(pointer, removed or ABSENT, added or ABSENT)
        case Parts(changes, size) if size == 0 or patch.target_size == 0:
            swaps = [
                (key, change) for key, change in changes.items() if isinstance(change, Replacement)
            ]
            old = {key: change.old for key, change in swaps if size}
            new = {key: change.new for key, change in swaps if not size}
            yield from _swap(pointer, old or ABSENT, new or ABSENT)
        case Parts():
            yield from operations(kind, patch, pointer)
        case _:
            assert_never(patch)


def _change_items(run: Run, pointer: str) -> Iterator[Operation]:
    changed = min(len(run.removed), len(run.added))
    for index in range(len(run.removed) - 1, changed - 1, -1):
        yield from _swap(f"{pointer}/{run.at + index}", run.removed[index], ABSENT)
    for index, new in enumerate(run.added):
        old = run.removed[index] if index < changed else ABSENT
        yield from _swap(f"{pointer}/{run.at + index}", old, new)


def _swap(pointer: str, old: Any, new: Any) -> Iterator[Operation]:
    if old is not ABSENT:
        yield {"op": "test", "path": pointer, "value": old}
    if new is not ABSENT:
        yield {"op": "add" if old is ABSENT else "replace", "path": pointer, "value": new}
    elif old is not ABSENT:
        yield {"op": "remove", "path": pointer}


def _is_written(kind: Kind) -> Test:
    return lambda value: bool(value or (kind.keep_empty and value is not None))


def _is_present(value: Any) -> bool:
    return value is not ABSENT


def _below(pointer: str, key: str) -> str:
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
