"""A patch as a JSON Patch (RFC 6902) of the serialised document, which leaves out what is empty."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, assert_never

from polycontext.nodes.agent_context.array_changes import Items, Run
from polycontext.nodes.agent_context.change_tree import Entries, Fields, Patch, Replaced, entry_kind, field_kind
from polycontext.nodes.agent_context.json_text import ABSENT, plain
from polycontext.nodes.agent_context.kinds import Kind
from polycontext.nodes.agent_context.record_base import layout

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
