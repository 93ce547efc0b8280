"""Encode a registry as JSON-ready data, and decode and validate such data."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from polycontext.base import InvalidDataError
from polycontext.base.codec import strict_converter, structured
from polycontext.base.json_data import under

from .names import EntityId, check_id, check_names, parse_ref
from .records import CurationEntry, EntityStatus, IdKey, Live, Records, Removed

SCHEMA = "polycontext.entities"
SCHEMA_VERSION = 1


@frozen
class Document:
    """The stored form of a registry; the index of ids is derived from it."""

    schema: str
    version: int
    ref_names: dict[str, str]
    counters: dict[str, int]
    entities: tuple[Live, ...]
    tombstones: tuple[Removed, ...]
    aliases: dict[str, str]
    log: tuple[CurationEntry, ...]

    def __attrs_post_init__(self) -> None:
        check_names(self.ref_names)


def encode(
    ref_names: Mapping[str, str], records: Records, log: tuple[CurationEntry, ...]
) -> dict[str, Any]:
    """Return a registry as JSON-ready data. It contains ids: store it, never put it in a prompt."""
    tables = (
        dict(records.counters),
        tuple(records.live.values()),
        tuple(records.removed.values()),
        dict(records.aliases),
    )
    data: dict[str, Any] = _CONVERTER.unstructure(
        Document(SCHEMA, SCHEMA_VERSION, dict(ref_names), *tables, log)
    )
    return data


def decode(data: object) -> Document:
    """Return the document that `encode` wrote; `restore` checks its consistency.

    Raises:
        InvalidDataError: Another schema or version, or a missing, unknown or wrongly typed field.
            The error names the path of the first fault.
    """
    legal = "what to_dict returned"
    if not isinstance(data, Mapping):
        raise InvalidDataError("$", f"{type(data).__name__} is not an object", legal)
    for name, known in (("schema", SCHEMA), ("version", SCHEMA_VERSION)):
        # 1 == True == 1.0, so compare the types as well.
        if type(data.get(name)) is not type(known) or data[name] != known:
            raise InvalidDataError(
                f"$.{name}", f"{data.get(name)!r:.60} cannot be read", repr(known)
            )
    return structured(_CONVERTER, data, Document, legal=legal)


_CONVERTER = strict_converter(complete=True)
_CONVERTER.register_structure_hook_func(
    lambda kind: kind in (EntityId, EntityId | None),
    lambda value, _: None if value is None else check_id(value, ""),
)


def restore(document: Document) -> Records:
    """Return the records of a document after checking that they are consistent.

    Raises:
        InvalidDataError: A ref is repeated or was never counted, two entities share an id, or an
            entity has an impossible status or alias.
    """
    for prefix, count in document.counters.items():
        if parse_ref(f"{prefix}_{count}") != (prefix, count):
            raise InvalidDataError(
                under("$.counters", prefix),
                f"{count} is not a count of refs by that name",
                "a name and a number from 1",
            )
    removed: dict[str, Removed] = {}
    for place, gone in enumerate(document.tombstones):
        ref = gone.tombstone.ref
        _check_ref(document, ref, f"$.tombstones[{place}].tombstone.ref", taken=ref in removed)
        removed[ref] = gone
    entries = _entries(document, removed)
    for alias, ref in document.aliases.items():
        path = under("$.aliases", alias)
        _check_counted(document, alias, path)
        if ref not in removed and ref not in entries:
            raise InvalidDataError(
                path,
                f"leads to {ref!r:.60}, which names nothing",
                "the ref of an entity or of a tombstone",
            )
    # A row that was removed and read again has two refs: its id leads to the live one.
    index = {
        (gone.tombstone.type, gone.id): ref for ref, gone in removed.items() if gone.id is not None
    }
    index |= {
        (entry.snapshot.type, entry.id): ref
        for ref, entry in entries.items()
        if entry.id is not None
    }
    return Records(
        entries,
        removed,
        document.aliases,
        document.counters,
        index,
        frozenset(kind for kind, _ in index),
    )


def _entries(document: Document, removed: dict[str, Removed]) -> dict[str, Live]:
    entries: dict[str, Live] = {}
    keys: set[IdKey] = set()
    for place, entry in enumerate(document.entities):
        ref, path = entry.snapshot.ref, f"$.entities[{place}]"
        _check_ref(document, ref, f"{path}.snapshot.ref", taken=ref in removed or ref in entries)
        _check_entry(entry, path)
        entries[ref] = entry
        if entry.id is not None:
            if (entry.snapshot.type, entry.id) in keys:
                raise InvalidDataError(
                    f"{path}.id", "belongs to an earlier entity already", "every id once a type"
                )
            keys.add((entry.snapshot.type, entry.id))
    return entries


def _check_entry(entry: Live, path: str) -> None:
    status = entry.snapshot.status
    if status is EntityStatus.DELETED or (status is EntityStatus.GENERATED) is entry.is_saved:
        legal = "generated without an id, read, created, updated or linked with one"
        raise InvalidDataError(
            f"{path}.snapshot.status",
            f"{status} is not the status of a live entity with this id",
            legal,
        )
    if entry.demoted and not entry.is_saved:
        raise InvalidDataError(
            f"{path}.demoted", "is true of a generated entity", "false until it is saved"
        )


def _check_ref(document: Document, ref: str, path: str, *, taken: bool) -> None:
    if taken or ref in document.aliases:
        raise InvalidDataError(path, f"{ref!r} stands for another entity already", "every ref once")
    _check_counted(document, ref, path)


def _check_counted(document: Document, ref: str, path: str) -> None:
    parts = parse_ref(ref)
    if parts is None or parts[1] > document.counters.get(parts[0], 0):
        raise InvalidDataError(
            path, f"{ref!r:.60} was never given out", "a ref whose number the counters have reached"
        )
