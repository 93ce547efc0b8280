"""A patch as JSON, and back: what `ContextDiff.changes` holds.

Namespaces and their keys nest as in the document. Below, ``{"old", "new"}`` is a value that gave
way to another (one of them is left out where there is none), ``{"length", "items"}`` an array,
``{"size", "entries"}`` a map and ``{"fields"}`` a record.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, assert_never

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import FrozenDict, check_text

from .array_changes import Items, Run
from .change_tree import Entries, Fields, Patch, Replaced, entry_kind, field_kind
from .codec import inside
from .context import AgentContext
from .errors import located, step_of
from .json_text import ABSENT, plain
from .kinds import Kind, Shape
from .record_base import layout
from .schema import SCHEMA

ValueReader: TypeAlias = Callable[[Kind, Any], Any]


def strict_value(kind: Kind, data: Any) -> Any:
    """Return a value of a kind, refusing unknown fields."""
    return kind.read(data)


def lenient_value(kind: Kind, data: Any) -> Any:
    """Return a value of a kind, keeping unknown fields."""
    # The trail holds tuples and frozen maps; `inside` looks for the lists and dicts of a document.
    return kind.read(inside(kind, plain(data)))


def changes_to_json(fields: Fields) -> dict[str, Any]:
    """Return the changes of a context as JSON data."""
    return {
        name: {key: _to_json(inner) for key, inner in change.changes.items()} if isinstance(change, Fields) else _to_json(change)
        for name, change in fields.changes.items()
    }


def _to_json(patch: Patch) -> dict[str, Any]:
    match patch:
        case Replaced(old, new):
            return {name: plain(value) for name, value in (("old", old), ("new", new)) if value is not ABSENT}
        case Items(length, runs):
            items = [{"at": run.at, "removed": plain(run.removed), "added": plain(run.added)} for run in runs]
            return {"length": length, "items": items}
        case Entries(size, changes):
            return {"size": size, "entries": {key: _to_json(change) for key, change in changes.items()}}
        case Fields(changes):
            return {"fields": {key: _to_json(change) for key, change in changes.items()}}
        case _:
            assert_never(patch)


def changes_from_json(data: Any, read: ValueReader) -> Fields:
    """Return the changes of a context that JSON data describes.

    Raises:
        InvalidDataError: no such changes; names the path.
    """

    def change(name: str, value: Any) -> Patch:
        kind = field_kind(AgentContext, name)
        unknown = name not in layout(AgentContext).kinds
        return _fields(kind.record, value, read) if name in SCHEMA else _from_json(kind, value, read, unknown=unknown)

    return Fields(_each(data, change))


def _from_json(kind: Kind, data: Any, read: ValueReader, *, unknown: bool) -> Patch:
    """Return a change of a value of a kind; `unknown` tells that the value may be missing, before or after."""
    if not isinstance(data, Mapping):
        raise InvalidDataError("", f"{type(data).__name__} is no change", _LEGAL)
    if kind.shape is Shape.ARRAY and "items" in data:
        return _items(kind, data, read)
    if kind.shape is Shape.MAP and "entries" in data:
        _only(data, "size", "entries")
        entries = _each(data["entries"], lambda _, value: _from_json(entry_kind(kind), value, read, unknown=True))
        return Entries(_index(data, "size"), entries)
    if kind.shape is Shape.OBJECT and "fields" in data:
        _only(data, "fields")
        return _fields(kind.record, data["fields"], read)
    if not (data.keys() <= {"old", "new"} and data and (unknown or len(data) == len(("old", "new")))):
        raise InvalidDataError("", f"no change: {', '.join(map(step_of, data)) or 'empty'}"[:80], _LEGAL)
    values = {name: located(name, read, kind, data[name]) if name in data else ABSENT for name in ("old", "new")}
    return Replaced(**values)


_LEGAL = "old and new; length and items of an array; size and entries of a map; fields of a record"


def _fields(record: Any, data: Any, read: ValueReader) -> Fields:
    known = layout(record).kinds
    return Fields(_each(data, lambda key, value: _from_json(field_kind(record, key), value, read, unknown=key not in known)))


def _items(kind: Kind, data: Mapping[str, Any], read: ValueReader) -> Items:
    _only(data, "length", "items")
    length, runs = _index(data, "length"), data["items"]
    if not isinstance(runs, (list, tuple)):
        raise InvalidDataError("items", f"{type(runs).__name__} is not an array", "a list of at, removed and added")
    found = tuple(located(f"items[{index}]", _run, kind, run, read) for index, run in enumerate(runs))
    # Runs that overlap would remove an item twice.
    ends = [0, *(run.at + len(run.removed) for run in found)]
    if any(run.at < end for run, end in zip(found, ends, strict=False)) or ends[-1] > length:
        raise InvalidDataError("items", "overlap or exceed the length", "runs in order, within the length")
    return Items(length, found)


def _run(kind: Kind, data: Any, read: ValueReader) -> Run:
    if not isinstance(data, Mapping):
        raise InvalidDataError("", f"{type(data).__name__} is not an object", "at, removed and added")
    _only(data, "at", "removed", "added")
    return Run(_index(data, "at"), located("removed", read, kind, data["removed"]), located("added", read, kind, data["added"]))


def _each(data: Any, change: Callable[[str, Any], Patch]) -> FrozenDict[Patch]:
    if not isinstance(data, Mapping):
        raise InvalidDataError("", f"{type(data).__name__} is not an object", "changes by name")
    return FrozenDict({check_text(key): located(step_of(key), change, key, value) for key, value in data.items()})


def _only(data: Mapping[str, Any], *keys: str) -> None:
    if set(data) != set(keys):
        raise InvalidDataError("", f"has {', '.join(map(step_of, data))}"[:80], f"{', '.join(keys)}")


def _index(data: Mapping[str, Any], key: str) -> int:
    number = data[key]
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InvalidDataError(key, f"{number!r:.40} is no position", "a whole number from 0")
    return number
