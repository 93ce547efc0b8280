"""The records of layer 1, and the tables of a registry that hold them (docs/nodes.md).

Records are entities and tombstones. The tables, an immutable value with the
operations on it, hold entities with their hidden ids, tombstones, aliases and counters. A change
copies the tables but not the entities: a version costs a few bytes per ref, and you can fork or
restore any version.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import Any, Self

from attrs import define, evolve, field, frozen
from attrs.validators import optional

from polycontext.base import CallerError, InvalidDataError, similar
from polycontext.base.json_data import FrozenDict, check_text

from ..checks import is_not_blank, is_text, object_or_none, parse_member, whole_from
from .names import GENERATED, EntityId, RefRefusedError, check_id, is_ref, is_type, parse_ref


class EntityStatus(StrEnum):
    """The last known event of an entity (docs/nodes.md)."""

    READ = "read"
    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    """Deleted from the database; only its tombstone has this status."""
    GENERATED = "generated"
    """Made by the model and not saved yet."""
    LINKED = "linked"
    """Known because another entity refers to it; not read yet."""


class EntityVerb(StrEnum):
    """What is reported of an entity, by a tool or by a method of the registry of this name."""

    READ = "read"
    CREATE = "create"
    LINK = "link"
    UPDATE = "update"
    DELETE = "delete"
    GENERATE = "generate"
    SAVE = "save"


def _status(value: EntityStatus | str) -> EntityStatus:
    return parse_member(EntityStatus, "status", value)


def _data(value: Mapping[str, Any] | None) -> FrozenDict[Any] | None:
    return object_or_none(value, "data")


@frozen
class EntitySnapshot:
    """One entity as it was known at a moment; it has no field for a database id.

    `turn_created` is the exchange in which it became known, `turn_last_ref` the last one that
    referenced it, `retention_reason` Understand's reason to keep it, and `data` immutable JSON.

    Raises:
        InvalidDataError: An invalid ref or type, an unknown status, text that cannot be stored,
            data that are not JSON, an exchange below 0, or a reference before the creation.
    """

    ref: str = field(validator=is_ref)
    type: str = field(validator=is_type)
    label: str = field(validator=is_text)
    status: EntityStatus = field(converter=_status)
    turn_created: int = field(validator=whole_from(0))
    turn_last_ref: int = field(validator=whole_from(0))
    retention_reason: str | None = field(default=None, validator=optional(is_not_blank))
    data: FrozenDict[Any] | None = field(default=None, converter=_data)

    def __attrs_post_init__(self) -> None:
        if self.turn_last_ref < self.turn_created:
            raise InvalidDataError(
                "turn_last_ref",
                f"{self.turn_last_ref} is before turn {self.turn_created}",
                "turn_created or later",
            )


@frozen
class Tombstone:
    """A record of a removed ref, so that the ref is never taken for another entity.

    `status` is DELETED if the entity was deleted from the database; otherwise it is the status that
    the entity had when it was dropped.
    """

    ref: str = field(validator=is_ref)
    type: str = field(validator=is_type)
    label: str = field(validator=is_text)
    turn_removed: int = field(validator=whole_from(0))
    reason: str = field(validator=is_text)
    status: EntityStatus = field(default=EntityStatus.DELETED, converter=_status)


@define(slots=False, eq=False)
class UnknownRefError(CallerError, KeyError):
    """Raised for a ref that names no live entity.

    `near` holds known refs that look similar. `tombstone` says when and why the ref was removed.
    `path` is its place in a translated payload, such as ``$.items[2].recipe_id``.
    """

    ref: str
    near: tuple[str, ...] = ()
    tombstone: Tombstone | None = None
    path: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        if self.tombstone is not None:
            return (
                f"{where}ref {self.ref!r} was removed in turn {self.tombstone.turn_removed}. "
                "Use a ref that is still there."
            )
        near = " or ".join(map(repr, self.near))
        use = f"Did you mean {near}?" if near else "Use a ref that the registry gave out."
        return f"{where}ref {self.ref!r} is not in the registry. {use}"


@frozen
class EntityContext:
    """The entities by tier, each in the order in which refs were assigned (docs/nodes.md).

    No ref is in two tiers. `tombstones` are as recent as the active tier; ages are counted from
    `current_turn`.
    """

    active: tuple[EntitySnapshot, ...] = ()
    generated: tuple[EntitySnapshot, ...] = ()
    retained: tuple[EntitySnapshot, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    current_turn: int = 0


# Near misses are typing slips: search only recent refs of moderate length, so that the cost does
# not grow with the registry.
_NEAR_MISS_REFS = 500
_NEAR_MISS_LENGTH = 100

REMEMBERED = 500
"""The most removed entities that a registry keeps.

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


@frozen(slots=False)
class Records:
    """All tables of a registry."""

    live: Mapping[str, Live] = field(factory=dict)
    removed: Mapping[str, Removed] = field(factory=dict)
    aliases: Mapping[str, str] = field(factory=dict)
    counters: Mapping[str, int] = field(factory=dict)

    @cached_property
    def index(self) -> Mapping[IdKey, str]:
        """Return the last ref that each id was known by, also of removed entities."""
        gone = {(each.tombstone.type, each.id): ref for ref, each in self.removed.items()}
        known = {(each.snapshot.type, each.id): ref for ref, each in self.live.items()}
        return {(kind, id): ref for (kind, id), ref in (gone | known).items() if id is not None}

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Return the types of the known ids."""
        return frozenset(kind for kind, _ in self.index)

    def contradictions(self) -> Iterator[str]:
        """Yield the refs that the tables contradict; data from outside may have some."""
        named = {ref: entry.snapshot.ref for ref, entry in self.live.items()}
        named |= {ref: gone.tombstone.ref for ref, gone in self.removed.items()}
        for ref in (*named, *self.aliases):
            known, (name, number) = self.aliases.get(ref, ref), parse_ref(ref) or (ref, 1)
            if named.get(known) != known or number > self.counters.get(name, 0):
                yield ref
        for ref, entry in self.live.items():
            is_new = entry.snapshot.status is EntityStatus.GENERATED
            of_id = self.index.get((entry.snapshot.type, entry.id or ""), ref)
            if ref in self.removed or of_id != ref or is_new is entry.is_saved:
                yield ref

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

    def put(self, entry: Live) -> Self:
        """Return records with this entry under its ref; a new ref comes last in the order."""
        # A known ref keeps its place in the order.
        return evolve(self, live={**self.live, entry.snapshot.ref: entry})

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
        return evolve(
            self,
            removed={ref: gone for ref, gone in self.removed.items() if ref not in old},
            aliases={alias: ref for alias, ref in self.aliases.items() if ref not in old},
        )

    def _near(self, ref: str) -> tuple[str, ...]:
        if len(ref) > _NEAR_MISS_LENGTH:
            return ()
        live = [
            *(alias for alias, current in self.aliases.items() if current in self.live),
            *self.live,
        ]
        return similar(ref, live[-_NEAR_MISS_REFS:])


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
            # Of a known entity, a link says nothing new.
            status=known.status if self.status in (None, EntityStatus.LINKED) else self.status,
            turn_last_ref=max(known.turn_last_ref, self.turn),
            data=known.data if self.data is None else self.data,
        )
        return Live(changed, entry.id)

    def _label_or(self, known: str) -> str:
        return self.label if self.label.strip() else known


def record_seen(
    records: Records, name: str, kind: str, reports: Iterable[tuple[EntityId | None, Report]]
) -> tuple[Records, list[str]]:
    """Return records with reported entities, and their refs: the known ones, or new ones.

    An entity without an id is generated, and always new. The tables are copied once, whatever the
    number of entities.
    """
    live, index, counters = dict(records.live), dict(records.index), dict(records.counters)
    refs = list[str]()
    for id, report in reports:
        ref = "" if id is None else index.get((kind, check_id(id)), "")
        # The index also holds refs of removed entities, which are not live.
        if (known := live.get(ref)) is not None:
            live[ref] = report.of(known)
        else:
            prefix = f"{GENERATED}{name}" if id is None else name
            counters[prefix] = counters.get(prefix, 0) + 1
            ref = f"{prefix}_{counters[prefix]}"
            live[ref] = Live(report.first(ref, kind, name), id)
            if id is not None:
                index[kind, id] = ref
        refs.append(ref)
    return evolve(records, live=live, counters=counters), refs


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
    merged = evolve(report, label=reported.label, data=reported.data)
    records, (new,) = record_seen(records, name, reported.type, [(id, merged)])
    entry = records.live[new]
    known = evolve(
        entry.snapshot,
        turn_created=min(reported.turn_created, entry.snapshot.turn_created),
        retention_reason=entry.snapshot.retention_reason or reported.retention_reason,
    )
    return records.rename(reported.ref, evolve(entry, snapshot=known)), new
