"""A patch as a JSON Patch (RFC 6902) of the serialised document, which leaves out what is empty."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, assert_never

from .array_changes import Items, Run
from .change_tree import Entries, Fields, Patch, Replaced, entry_kind, field_kind
from .json_text import ABSENT, canonical, plain
from .kinds import Kind
from .record_base import layout

_DIFF = re.compile(r"/audit/diffs/([0-9]+)")
Operation: TypeAlias = dict[str, Any]
Shown: TypeAlias = Callable[[Any], bool]


def operations(record: type, fields: Fields, pointer: str, *, tests: bool) -> Iterator[Operation]:
    """Yield the operations that change a record which stands at `pointer`."""
    known = layout(record).kinds
    for key, change in fields.changes.items():
        kind = field_kind(record, key)
        yield from _of(kind, change, _below(pointer, key), _written_as(kind) if key in known else _is_present, tests=tests)


def _of(kind: Kind, patch: Patch, pointer: str, shown: Shown, *, tests: bool) -> Iterator[Operation]:
    match patch:
        case Replaced(old, new):
            yield from _swap(pointer, old if shown(old) else ABSENT, new if shown(new) else ABSENT, tests=tests)
        case Items(length, runs) if length and patch.target_length:
            # From the back: what comes first keeps its place.
            for run in reversed(runs):
                yield from _of_run(run, pointer, tests=tests)
        case Items(length, runs):
            removed = tuple(item for run in runs for item in run.removed)
            added = tuple(item for run in runs for item in run.added)
            yield from _swap(pointer, removed or ABSENT, added or ABSENT, tests=tests)
        case Entries(size) if size and patch.target_size:
            for key, change in patch.changes.items():
                yield from _of(entry_kind(kind), change, _below(pointer, key), _is_present, tests=tests)
        case Entries(size, changes):
            swaps = [(key, change) for key, change in changes.items() if isinstance(change, Replaced)]
            old = {key: change.old for key, change in swaps if size}
            new = {key: change.new for key, change in swaps if not size}
            yield from _swap(pointer, old or ABSENT, new or ABSENT, tests=tests)
        case Fields():
            assert kind.record is not None
            yield from operations(kind.record, patch, pointer, tests=tests)
        case _:
            assert_never(patch)


def _of_run(run: Run, pointer: str, *, tests: bool) -> Iterator[Operation]:
    changed = min(len(run.removed), len(run.added))
    for index in range(len(run.removed) - 1, changed - 1, -1):
        yield from _swap(f"{pointer}/{run.at + index}", run.removed[index], ABSENT, tests=tests)
    for index in range(len(run.added)):
        old = run.removed[index] if index < changed else ABSENT
        yield from _swap(f"{pointer}/{run.at + index}", old, run.added[index], tests=tests)


def _swap(pointer: str, old: Any, new: Any, *, tests: bool) -> Iterator[Operation]:
    if old is not ABSENT and tests:
        yield {"op": "test", "path": pointer, "value": plain(old)}
    if new is not ABSENT:
        yield {"op": "add" if old is ABSENT else "replace", "path": pointer, "value": plain(new)}
    elif old is not ABSENT:
        yield {"op": "remove", "path": pointer}


def _written_as(kind: Kind) -> Shown:
    return lambda value: bool(value or (kind.kept and value is not None))


def _is_present(value: Any) -> bool:
    return value is not ABSENT


def _below(pointer: str, key: str) -> str:
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


# --- finer than values ---------------------------------------------------------------


def finer(operations: Iterable[Operation], document: Any) -> Iterator[Operation]:
    """Yield operations that do to `document` what these do, with the diffs of its trail told by what changed of them.

    Older diffs are joined into one that grows with all that was ever added: told as a whole it would be written anew by every run.

    Law: both lead to one document.
    """
    for operation in operations:
        place = _DIFF.fullmatch(operation["path"])
        if operation["op"] == "replace" and place is not None:
            # Operations come from the back: what stands there is what stood there.
            yield from _between(document["audit"]["diffs"][int(place[1])], operation["value"], operation["path"])
        else:
            yield operation


def _between(old: Any, new: Any, pointer: str) -> Iterator[Operation]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from ({"op": "remove", "path": _below(pointer, key)} for key in old if key not in new)
        for key, value in new.items():
            yield from _between(old.get(key, ABSENT), value, _below(pointer, key))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _between_lists(old, new, pointer)
    elif old is ABSENT or canonical(old) != canonical(new):
        yield {"op": "add" if old is ABSENT else "replace", "path": pointer, "value": new}


def _between_lists(old: list[Any], new: list[Any], pointer: str) -> Iterator[Operation]:
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    both = min(len(gone), len(come))
    yield from ({"op": "remove", "path": f"{pointer}/{start + index}"} for index in range(len(gone) - 1, both - 1, -1))
    for index in range(both):
        yield from _between(gone[index], come[index], f"{pointer}/{start + index}")
    yield from ({"op": "add", "path": f"{pointer}/{start + index}", "value": come[index]} for index in range(both, len(come)))


def _shared(old: list[Any], new: list[Any]) -> int:
    """Return how many values are the same at the beginning."""
    return next(
        (index for index, pair in enumerate(zip(old, new, strict=False)) if canonical(pair[0]) != canonical(pair[1])),
        min(len(old), len(new)),
    )
