"""A registry as JSON-ready data, and back, trusting nothing that it reads."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from polycontext.nodes._codec import FAULTS, first_fault, strict_converter
from polycontext.nodes.entities._checks import EntityId, check_id, check_names
from polycontext.nodes.entities._records import Entry, Grave, Records
from polycontext.nodes.entities.curation import CurationAction, CurationEntry
from polycontext.nodes.entities.errors import EntityFormatError
from polycontext.nodes.entities.snapshot import EntityStatus

SCHEMA = "polycontext.entities"
SCHEMA_VERSION = 1

_LEGAL = "what to_dict returned"


def _are_names(value: Mapping[str, str]) -> None:
    check_names(value)


@frozen
class Document:
    """Hold what is stored of a registry; the index of ids follows from it."""

    schema: str
    version: int
    ref_names: dict[str, str] = field(validator=lambda _, __, names: _are_names(names))
    counters: dict[str, int]
    entities: tuple[Entry, ...]
    tombstones: tuple[Grave, ...]
    aliases: dict[str, str]
    log: tuple[CurationEntry, ...]


def encode(ref_names: Mapping[str, str], records: Records, log: tuple[CurationEntry, ...]) -> dict[str, Any]:
    """Return a registry as JSON-ready data, ids included: it is for a store, never for a prompt."""
    entities, tombstones = tuple(records.entries.values()), tuple(records.graves.values())
    counters, aliases = dict(records.counters), dict(records.aliases)
    document = Document(SCHEMA, SCHEMA_VERSION, dict(ref_names), counters, entities, tombstones, aliases, log)
    data: dict[str, Any] = _CONVERTER.unstructure(document)
    return data


def decode(data: object) -> Document:
    """Return what `encode` wrote; whether it can be true is for `restored` to say.

    Raises:
        EntityFormatError: naming the path of the first fault: another schema or version, a missing,
            unknown or wrongly typed field.
    """
    if not isinstance(data, Mapping):
        raise EntityFormatError("$", f"{type(data).__name__} is no object", _LEGAL)
    for name, known in (("schema", SCHEMA), ("version", SCHEMA_VERSION)):
        if type(data.get(name)) is not type(known) or data[name] != known:
            raise EntityFormatError(f"$.{name}", f"{data.get(name)!r:.60} cannot be read", repr(known))
    try:
        return _CONVERTER.structure(data, Document)
    except FAULTS as error:
        raise EntityFormatError(*first_fault(error), _LEGAL) from None


def _is_id(kind: Any) -> bool:
    return kind in (EntityId, EntityId | None)


def _id(value: object, _: object) -> EntityId | None:
    return None if value is None else check_id(value)


_CONVERTER = strict_converter(EntityStatus, CurationAction)
_CONVERTER.register_structure_hook_func(_is_id, _id)
