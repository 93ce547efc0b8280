"""What may happen to an entity, as functions on the records."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from polycontext.nodes._values import is_text, whole_from
from polycontext.nodes.entities._checks import EntityId, check_id, check_type
from polycontext.nodes.entities._records import Entry, Records
from polycontext.nodes.entities.errors import RefRefusedError
from polycontext.nodes.entities.naming import GENERATED
from polycontext.nodes.entities.snapshot import EntitySnapshot, EntityStatus


@frozen
class Report:
    """Hold what a turn says of an entity; a blank label, and data or a status of None, say nothing new."""

    turn: int = field(validator=whole_from(0))
    status: EntityStatus | None = None
    label: str = field(default="", validator=is_text)
    data: Mapping[str, Any] | None = None

    def first(self, ref: str, kind: str, name: str) -> EntitySnapshot:
        """Return an entity of which this is the first report; one of which no database has said anything is generated."""
        status = self.status or EntityStatus.GENERATED
        return EntitySnapshot(ref, kind, self.label if self.label.strip() else name, status, self.turn, self.turn, None, self.data)

    def of(self, entry: Entry) -> Entry:
        """Return a known entity after this report: referenced, hence demoted no more, and never older for a late report."""
        known = entry.snapshot
        snapshot = evolve(
            known,
            label=self.label if self.label.strip() else known.label,
            status=self.status or known.status,
            turn_last_ref=max(known.turn_last_ref, self.turn),
            data=known.data if self.data is None else self.data,
        )
        return evolve(entry, snapshot=snapshot, demoted=False)


def seen(records: Records, name: str, kind: str, id: EntityId, report: Report) -> tuple[Records, str]:  # noqa: A002  the seed's word
    """Return records that know an entity of the database, and its ref: the one it has, or a new one after `name`."""
    known = records.find((check_type(kind), check_id(id)))
    if known is not None:
        return records.put(report.of(known)), known.snapshot.ref
    records, ref = records.mint(name)
    return records.put(Entry(report.first(ref, kind, name), id)), ref


def generated(records: Records, name: str, kind: str, report: Report) -> tuple[Records, str]:
    """Return records that know an entity without an id, and its new ref."""
    records, ref = records.mint(f"{GENERATED}{name}")
    return records.put(Entry(report.first(ref, kind, name))), ref


def saved(records: Records, name: str, ref: str, id: EntityId, report: Report) -> tuple[Records, str]:  # noqa: A002  the seed's word
    """Return records in which a generated entity has an id, and the ref that it goes by from now on."""
    old = records.entry(ref)
    if old.is_saved:
        return _saved_again(records, ref, old, id, report)
    told = report.of(old).snapshot
    records, new = seen(records, name, told.type, id, evolve(report, label=told.label, data=told.data))
    entry = records.entries[new]
    merged = evolve(
        entry.snapshot,
        turn_created=min(told.turn_created, entry.snapshot.turn_created),
        retention_reason=entry.snapshot.retention_reason or told.retention_reason,
    )
    return records.rename(told.ref, evolve(entry, snapshot=merged)), new


def _saved_again(records: Records, ref: str, entry: Entry, id: EntityId, report: Report) -> tuple[Records, str]:  # noqa: A002  the seed's word
    if check_id(id) != entry.id:
        raise RefRefusedError(ref, "is saved already, under another id", "update, or generating another entity")
    return records.put(report.of(entry)), entry.snapshot.ref
