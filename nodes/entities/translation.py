"""Refs to ids on the way to the database, ids to refs on the way back, alone or anywhere in a JSON payload.

Outside of named fields every text that is exactly a ref, or exactly an id, is one. Texts
that merely hold one, keys, and numbers outside of named fields stay as they are.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import MAX_DEPTH, under

from .names import GENERATED, EntityId, RefRefusedError, numbered
from .records import Records

Fields: TypeAlias = Iterable[str] | Mapping[str, str] | None
"""Names of fields that hold refs or ids, at any depth, perhaps each with its type; None for every text."""

_ANY = ""  # a field whose type nobody said; None stands for no field at all
_Swap = Callable[[Any, str | None, str], Any]


def id_of(records: Records, ref: str, kind: str | None = None, path: str | None = None) -> EntityId:
    """Return the id behind a ref, which must be of type `kind` if that is said."""
    entry = records.live[records.resolve(ref, path)]
    if kind is not None and entry.snapshot.type != kind:
        raise RefRefusedError(ref, f"is of type {entry.snapshot.type}", f"a ref of type {kind}", path)
    if entry.id is None:
        raise RefRefusedError(ref, "is generated and has no id yet", "saving it first", path)
    return entry.id


def ref_of(records: Records, id: EntityId, kind: str | None = None, path: str | None = None) -> str | None:  # noqa: A002  callers say it so
    """Return the ref by which an id was last known, or None; of any type, unless `kind` says which."""
    kinds = [kind] if kind is not None else sorted(each for each in records.kinds if (each, id) in records.index)
    if len(kinds) > 1:
        raise InvalidDataError(path or "id", f"{id!r} belongs to several types", f"saying which of {', '.join(kinds)}")
    return records.index.get((kinds[0], id)) if kinds else None


def to_ids(records: Records, payload: Any, fields: Fields) -> Any:
    """Return a copy of a payload with ids for refs."""

    def anywhere(value: Any, _: str | None, path: str) -> Any:
        return id_of(records, value, None, path) if isinstance(value, str) and _claims_to_be_ref(records, value) else value

    def named(value: Any, kind: str | None, path: str) -> Any:
        # Anything else than text is refused as a ref that there is not.
        return None if value is None else id_of(records, value if isinstance(value, str) else repr(value), kind, path)

    return _swapped(payload, fields, anywhere if fields is None else named)


def to_refs(records: Records, payload: Any, fields: Fields) -> Any:
    """Return a copy of a payload with refs for ids; unknown ids stay."""

    def swap(value: Any, kind: str | None, path: str) -> Any:
        is_id = isinstance(value, str) or (fields is not None and type(value) is int)
        return (ref_of(records, value, kind, path) or value) if is_id else value

    return _swapped(payload, fields, swap)


def _claims_to_be_ref(records: Records, text: str) -> bool:
    # What only looks like a ref of a known name is a model's slip: it must not reach the database as text.
    parts = numbered(text)
    return parts is not None and (parts[0] in records.counters or parts[0].removeprefix(GENERATED) in records.counters)


def _swapped(payload: Any, fields: Fields, swap: _Swap) -> Any:
    kinds = (
        fields if fields is None or isinstance(fields, Mapping) else dict.fromkeys([fields] if isinstance(fields, str) else fields, _ANY)
    )

    def walk(value: Any, path: str, depth: int, kind: str | None) -> Any:
        if not isinstance(value, Mapping | list | tuple):
            return value if kind is None else swap(value, kind or None, path)
        if not depth:
            raise InvalidDataError("payload", f"nested deeper than {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels")
        if isinstance(value, Mapping):
            of = (lambda _: _ANY) if kinds is None else kinds.get
            return {key: walk(item, under(path, str(key)), depth - 1, of(key)) for key, item in value.items()}
        return [walk(item, under(path, index), depth - 1, kind) for index, item in enumerate(value)]

    return walk(payload, "$", MAX_DEPTH, _ANY if kinds is None else None)
