"""The tables of a registry, as an immutable value with the operations on it.

The tables hold entities with their hidden ids, tombstones, aliases and counters. A change copies
the tables but not the entities: a version costs a few bytes per ref, and you can fork or restore
any version.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, Self

from attrs import evolve, field, frozen

from polycontext.base.json_data import check_text

from ..checks import is_text, whole_from
from .names import GENERATED, EntityId, RefRefusedError, check_id, check_type
from .snapshot import EntitySnapshot, EntityStatus, Tombstone, UnknownRefError

# Near misses are typing slips: search only recent refs of moderate length, so that the cost does
# not grow with the registry.
_NEAR_MISS_REFS = 500
_NEAR_MISS_LENGTH = 100

REMEMBERED = 500
"""The most removed entities, and the most decisions, that a registry keeps.

The newest are kept. The bound exists because all of them are stored on every save.
"""

Data = Mapping[str, Any] | None
"""The data of an entity besides its label, as a JSON object or None."""

IdKey = tuple[str, EntityId]
"""A type and an id, because two tables may use the same integers."""


@frozen
class Live:
    """A live entity: its snapshot, its id (None until it is saved), and whether it was demoted."""

    snapshot: EntitySnapshot
    id: EntityId | None = field(default=None, repr=False)
    demoted: bool = False

    @property
    def is_saved(self) -> bool:
        """Return whether the entity has a database id."""
        return self.id is not None


@frozen
class Removed:
    """A removed entity: its tombstone and its hidden id."""

    tombstone: Tombstone
    id: EntityId | None = field(default=None, repr=False)


@frozen
class Records:
    """All tables of a registry.

    `index` maps each id to the last ref it was known by; `kinds` holds the types in it.
    """

    live: Mapping[str, Live] = field(factory=dict)
    removed: Mapping[str, Removed] = field(factory=dict)
    aliases: Mapping[str, str] = field(factory=dict)
    counters: Mapping[str, int] = field(factory=dict)
    index: Mapping[IdKey, str] = field(factory=dict, repr=False)
    kinds: frozenset[str] = frozenset()

    def resolve(self, ref: str, path: str | None = None) -> str:
        """Return the current ref of an entity.

        Raise `UnknownRefError` if `ref`, found at `path`, names no live entity.
        """
        current = self.aliases.get(check_text(ref, "ref"), ref)
        if current not in self.live:
            gone = self.removed.get(current)
            near, tombstone = ((), gone.tombstone) if gone else (self._near(ref), None)
            raise UnknownRefError(ref, near, tombstone, path)
        return current

    def entity(self, ref: str) -> Live:
        """Return the entity that `ref` names; raise `UnknownRefError` if there is none."""
        return self.live[self.resolve(ref)]

    def find(self, key: IdKey) -> Live | None:
        """Return the live entity with this type and id."""
        # The index also holds refs of removed entities, which are not live.
        return self.live.get(self.index.get(key, ""))

    def next_ref(self, prefix: str) -> tuple[Self, str]:
        """Return the records and the next ref of a prefix; a ref is never assigned twice."""
        number = self.counters.get(prefix, 0) + 1
        return evolve(self, counters={**self.counters, prefix: number}), f"{prefix}_{number}"

    def put(self, entry: Live) -> Self:
        """Return records with this entry under its ref; a new ref comes last in the order."""
        kind, ref = entry.snapshot.type, entry.snapshot.ref
        # A known ref keeps its place in the order.
        put = evolve(self, live={**self.live, ref: entry})
        if entry.id is None or self.index.get((kind, entry.id)) == ref:
            return put
        return evolve(put, index={**self.index, (kind, entry.id): ref}, kinds=self.kinds | {kind})

    def rename(self, ref: str, entry: Live) -> Self:
        """Return records in which `entry` replaces `ref`, which becomes an alias of its ref."""
        rest = {other: known for other, known in self.live.items() if other != ref}
        return evolve(self, live=rest, aliases={**self.aliases, ref: entry.snapshot.ref}).put(entry)

    def remove(
        self, refs: Iterable[str], turn: int, reason: str, status: EntityStatus | None = None
    ) -> Self:
        """Return records in which these refs are replaced by tombstones.

        Counters are kept; ids are kept as long as the tombstone.
        """
        live, removed = dict(self.live), dict(self.removed)
        for ref in refs:
            entry = live.pop(ref)
            known = entry.snapshot
            stone = Tombstone(ref, known.type, known.label, turn, reason, status or known.status)
            removed[ref] = Removed(stone, entry.id)
        return evolve(self, live=live, removed=removed).forget_oldest()

    def forget_oldest(self) -> Self:
        """Return records without the tombstones over the limit, the oldest first."""
        old = dict(islice(self.removed.items(), max(len(self.removed) - REMEMBERED, 0)))
        if not old:
            return self
        # Remove everything that leads to a forgotten ref, or the records could not be restored.
        index = {key: ref for key, ref in self.index.items() if ref not in old}
        return evolve(
            self,
            removed={ref: gone for ref, gone in self.removed.items() if ref not in old},
            aliases={alias: ref for alias, ref in self.aliases.items() if ref not in old},
            index=index,
            kinds=frozenset(kind for kind, _ in index),
        )

    def _near(self, ref: str) -> tuple[str, ...]:
        if len(ref) > _NEAR_MISS_LENGTH:
            return ()
        live = [
            *(alias for alias, current in self.aliases.items() if current in self.live),
            *self.live,
        ]
        return tuple(get_close_matches(ref, live[-_NEAR_MISS_REFS:]))


@frozen
class Report:
    """A report about an entity in one exchange.

    A blank label, and data or a status of None, leave the known value unchanged.
    """

    turn: int = field(validator=whole_from(0))
    status: EntityStatus | None = None
    label: str = field(default="", validator=is_text)
    data: Data = None

    def first(self, ref: str, kind: str, name: str) -> EntitySnapshot:
        """Return the snapshot of an entity that is reported for the first time.

        Without a status from the database it is GENERATED.
        """
        status, label = self.status or EntityStatus.GENERATED, self._label_or(name)
        return EntitySnapshot(ref, kind, label, status, self.turn, self.turn, data=self.data)

    def of(self, entry: Live) -> Live:
        """Return a known entity after this report, referenced and no longer demoted.

        A late report never makes an entity older.
        """
        known = entry.snapshot
        changed = evolve(
            known,
            label=self._label_or(known.label),
            status=self.status or known.status,
            turn_last_ref=max(known.turn_last_ref, self.turn),
            data=known.data if self.data is None else self.data,
        )
        return Live(changed, entry.id)

    def _label_or(self, known: str) -> str:
        return self.label if self.label.strip() else known


def record_seen(
    records: Records, name: str, kind: str, id: EntityId, report: Report
) -> tuple[Records, str]:
    """Return records with an entity of the database, and its ref: the known one, or a new one."""
    known = records.find((check_type(kind), check_id(id)))
    if known is not None:
        return records.put(report.of(known)), known.snapshot.ref
    records, ref = records.next_ref(name)
    return records.put(Live(report.first(ref, kind, name), id)), ref


def record_generated(records: Records, name: str, kind: str, report: Report) -> tuple[Records, str]:
    """Return records with a new entity that has no id, and its ref."""
    records, ref = records.next_ref(f"{GENERATED}{name}")
    return records.put(Live(report.first(ref, kind, name))), ref


def record_saved(
    records: Records, name: str, ref: str, id: EntityId, report: Report
) -> tuple[Records, str]:
    """Return records in which a generated entity is saved under an id, and its ref from now on."""
    old = records.entity(ref)
    if old.is_saved:
        if check_id(id) != old.id:
            raise RefRefusedError(
                ref, "is saved already, under another id", "Update it, or generate another entity"
            )
        return records.put(report.of(old)), old.snapshot.ref
    reported = report.of(old).snapshot
    # If the row is known already, the generated entity becomes that one and takes its ref.
    records, new = record_seen(
        records, name, reported.type, id, evolve(report, label=reported.label, data=reported.data)
    )
    entry = records.live[new]
    merged = evolve(
        entry.snapshot,
        turn_created=min(reported.turn_created, entry.snapshot.turn_created),
        retention_reason=entry.snapshot.retention_reason or reported.retention_reason,
    )
    return records.rename(reported.ref, evolve(entry, snapshot=merged)), new
