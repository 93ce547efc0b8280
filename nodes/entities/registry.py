"""The registry of entities: their refs, their database ids and what happened to them.

Models garble, invent and leak database ids, so a model is shown refs such as ``recipe_1``.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self, TypeAlias

from attrs import evolve, field, frozen

from polycontext.base import UnknownNameError

from ..checks import check_count, check_not_blank, parse_member
from . import translation
from .names import EntityId, RefRefusedError, check_id, check_names, check_type, ref_name
from .presentation import EntityMode, Tier, visible_entities
from .records import (
    Data,
    EntityContext,
    EntitySnapshot,
    EntityStatus,
    EntityVerb,
    Live,
    Records,
    Report,
    Tombstone,
    record_saved,
    record_seen,
)
from .translation import Fields, HiddenIds

Row: TypeAlias = tuple[EntityId | None, str, Data, str]
"""A reported row: its id, label, data, and the ref of the generated entity that it saves."""

_SEEN = {
    EntityVerb.READ: EntityStatus.READ,
    EntityVerb.CREATE: EntityStatus.CREATED,
    EntityVerb.LINK: EntityStatus.LINKED,
    EntityVerb.UPDATE: EntityStatus.UPDATED,
    EntityVerb.GENERATE: EntityStatus.GENERATED,
}
"""The status after each report that needs no known entity."""

ACTIVE_TURNS = 2
"""The default number of exchanges for which an entity stays active after its last reference."""


@frozen(repr=False)
class SessionIdRegistry:
    """The entities of a session by ref; immutable (docs/nodes.md).

    Methods that report or remove take an exchange number, `turn`. All that change something return
    a new registry, and those that may assign a ref return it as well. `ref_names` names types that
    `singular` gets wrong.

    Laws: a ref is assigned once; an entity that is read again keeps its ref; a late report never
    makes an entity older; an error changes nothing.

    >>> registry, soup = SessionIdRegistry().read("recipes", "b7e1-44", "Soup", turn=1)
    >>> registry, idea = registry.generate("recipes", "Cold soup", turn=2)
    >>> soup, idea, registry.id_of(soup)
    ('recipe_1', 'gen_recipe_1', 'b7e1-44')
    >>> registry, new = registry.save(idea, "c9d3-71", turn=3)
    >>> new, registry.id_of(idea)
    ('recipe_2', 'c9d3-71')
    """

    ref_names: Mapping[str, str] = field(factory=dict, converter=check_names, hash=False)
    records: Records = field(default=Records(), hash=False)

    # --- reports by Act -----------------------------------------------------

    def read(
        self,
        type: str,
        id: EntityId,
        label: str = "",
        *,
        turn: int,
        data: Data = None,
    ) -> tuple[Self, str]:
        """Report that an entity was read, and return its ref, which a known entity keeps.

        A blank label keeps the known one or uses the type's name; None keeps the known data.

        Raises:
            InvalidDataError: An invalid type, id, label or exchange; data that are no JSON object.
        """
        return self._report_seen(type, id, Report(turn, EntityStatus.READ, label, data))

    def create(
        self,
        type: str,
        id: EntityId,
        label: str = "",
        *,
        turn: int,
        data: Data = None,
    ) -> tuple[Self, str]:
        """Report that an entity was created in the database; see `read`."""
        return self._report_seen(type, id, Report(turn, EntityStatus.CREATED, label, data))

    def link(
        self,
        type: str,
        id: EntityId,
        label: str = "",
        *,
        turn: int,
        data: Data = None,
    ) -> tuple[Self, str]:
        """Report that another entity refers to this one; it is LINKED unless known. See `read`."""
        return self._report_seen(type, id, Report(turn, EntityStatus.LINKED, label, data))

    def report(self, verb: EntityVerb | str, type: str, rows: Iterable[Row], *, turn: int) -> Self:
        """Report rows of one type by their ids, as tools do.

        A row is an id, a label, data and a ref. The id of a generated row is None. The ref is that
        of the generated entity that is saved; without one, the row is created. A deleted row that
        is not known is ignored. Takes time linear in the rows that are read, created, linked or
        updated.
        """
        verb, registry = parse_member(EntityVerb, "verb", verb), self
        if verb in _SEEN:
            is_new = verb is EntityVerb.GENERATE
            reports = (
                (None if is_new else check_id(id), Report(turn, _SEEN[verb], label, data))
                for id, label, data, _ in rows
            )
            return self._report_all(type, reports)[0]
        for given, label, data, ref in rows:
            id = check_id(given)
            known = registry.records.index.get((type, id), "")
            if verb is EntityVerb.DELETE:
                registry = registry.delete(known, turn=turn) if known in registry else registry
            elif ref in registry and registry.records.entity(ref).id in (None, id):
                registry, _ = registry.save(ref, id, label, turn=turn, data=data)
            else:
                registry, _ = registry.create(type, id, label, turn=turn, data=data)
        return registry

    def generate(
        self, type: str, label: str = "", *, turn: int, data: Data = None
    ) -> tuple[Self, str]:
        """Report an entity that the model made, and return its ref, ``gen_...``; see `read`."""
        return self._report_seen(type, None, Report(turn, EntityStatus.GENERATED, label, data))

    def save(
        self,
        ref: str,
        id: EntityId,
        label: str = "",
        *,
        turn: int,
        data: Data = None,
    ) -> tuple[Self, str]:
        """Report that a generated entity was saved, and return its new ref.

        The ref is new, as for a created entity, or that of the entity with this id. The ``gen_...``
        ref stays an alias. Saving again with the same id is allowed.

        Raises:
            UnknownRefError: There is no such ref.
            RefRefusedError: The entity is saved already, under another id.
        """
        name = ref_name(self.records.entity(ref).snapshot.type, self.ref_names)
        records, new = record_saved(
            self.records, name, ref, id, Report(turn, EntityStatus.CREATED, label, data)
        )
        return self._with(records), new

    def update(self, ref: str, label: str = "", *, turn: int, data: Data = None) -> Self:
        """Report a new label or data, or raise `UnknownRefError`; unsaved ones stay GENERATED."""
        entry = self.records.entity(ref)
        report = Report(turn, EntityStatus.UPDATED if entry.is_saved else None, label, data)
        return self._with(self.records.put(report.of(entry)))

    def touch(self, ref: str, *, turn: int) -> Self:
        """Report a reference, which makes the entity active; raise `UnknownRefError` if unknown."""
        return self._with(self.records.put(Report(turn).of(self.records.entity(ref))))

    def delete(self, ref: str, reason: str = "deleted", *, turn: int) -> Self:
        """Report that an entity was deleted from the database, and leave a tombstone.

        Raises:
            UnknownRefError: There is no such ref.
            RefRefusedError: The entity was never saved.
        """
        entry = self.records.entity(ref)
        if not entry.is_saved:
            raise RefRefusedError(ref, "is generated and in no database", "Save or drop it")
        return self._with(
            self.records.remove([entry.snapshot.ref], turn, reason, EntityStatus.DELETED)
        )

    # --- decisions of Understand --------------------------------------------

    def retain(self, ref: str, reason: str) -> Self:
        """Keep an entity in mind after it stops being active; this does not reference it.

        Raises:
            UnknownRefError: There is no such ref.
            InvalidDataError: The reason is blank.
        """
        entry = self.records.entity(ref)
        known = evolve(entry.snapshot, retention_reason=check_not_blank(reason, "reason"))
        return self._with(self.records.put(evolve(entry, snapshot=known)))

    def demote(self, ref: str) -> Self:
        """Remove an entity from the active and retained tiers until it is referenced again.

        Raises:
            UnknownRefError: There is no such ref.
            RefRefusedError: The entity is generated and not saved.
        """
        entry = self.records.entity(ref)
        if not entry.is_saved:
            raise RefRefusedError(
                ref, "is generated and not saved, so it stays in sight", "Save or drop it"
            )
        known = evolve(entry.snapshot, retention_reason=None)
        return self._with(self.records.put(evolve(entry, demoted=True, snapshot=known)))

    def drop(self, ref: str, reason: str = "dropped", *, turn: int) -> Self:
        """Replace any entity by a tombstone; raise `UnknownRefError` if there is no such ref."""
        return self._with(self.records.remove([self.records.resolve(ref)], turn, reason))

    def clear_all(
        self, reason: str = "cleared", *, turn: int, include_generated: bool = False
    ) -> Self:
        """Remove every saved entity, or all with `include_generated`, and leave tombstones."""
        gone = [
            ref for ref, entry in self.records.live.items() if entry.is_saved or include_generated
        ]
        return self._with(self.records.remove(gone, turn, reason))

    # --- queries ------------------------------------------------------------

    def context(self, current_turn: int, *, active_turns: int = ACTIVE_TURNS) -> EntityContext:
        """Return the entities at an exchange by tier, without ids; see `get_entity_context`."""
        oldest = check_count(current_turn, "current_turn") - check_count(
            active_turns, "active_turns"
        )
        tiers = [(_tier_of(entry, oldest), entry.snapshot) for entry in self.records.live.values()]
        active, generated, retained = (
            tuple(self._hidden_ids.snapshot(snapshot) for found, snapshot in tiers if found is tier)
            for tier in (Tier.ACTIVE, Tier.GENERATED, Tier.RETAINED)
        )
        tombstones = tuple(
            self._hidden_ids.tombstone(each)
            for each in self.tombstones
            if each.turn_removed >= oldest
        )
        return EntityContext(active, generated, retained, tombstones, current_turn)

    def get(self, ref: str) -> EntitySnapshot:
        """Return the entity that a ref or alias names; raise `UnknownRefError` if unknown.

        Its data contain ids: not for prompts.
        """
        return self.records.entity(ref).snapshot

    @property
    def tombstones(self) -> tuple[Tombstone, ...]:
        """Return the tombstones of the last 500 removed refs at most, in order of removal."""
        return tuple(gone.tombstone for gone in self.records.removed.values())

    def id_of(self, ref: str) -> EntityId:
        """Return the database id behind a ref.

        Raises:
            UnknownRefError: There is no such ref.
            RefRefusedError: The entity is generated and has no id yet.
        """
        return translation.id_of(self.records, ref)

    def ref_of(self, id: EntityId, type: str | None = None) -> str:
        """Return the last ref by which an id was known.

        Raises:
            UnknownNameError: The id was never known.
            InvalidDataError: Several types have the id, and `type` is not given.
        """
        ref = translation.ref_of(self.records, id, type)
        if ref is None:
            of = "any type" if type is None else f"type {type!r}"
            legal = ("an id that was read, created, linked or saved before",)
            raise UnknownNameError(f"{id.__class__.__name__} id of {of}", str(id), legal)
        return ref

    def to_ids(self, payload: Any, fields: Fields = None) -> Any:
        """Return a copy of a JSON payload with refs replaced by ids, for the database.

        In the named `fields`, at any depth, every value but None must be a ref, alone or in a list;
        a mapping also gives the type of each field. Without `fields`, every text that is exactly a
        ref is replaced.

        Raises:
            UnknownRefError: A ref names nothing; the error gives near misses and the path.
            RefRefusedError: A ref has no id yet, or is of another type than given.

        >>> registry, soup = SessionIdRegistry().read("recipes", 17, turn=1)
        >>> registry.to_ids({"recipe_id": soup, "servings": 4})
        {'recipe_id': 17, 'servings': 4}
        >>> registry.to_refs({"recipe_id": 17, "servings": 17}, ["recipe_id"])
        {'recipe_id': 'recipe_1', 'servings': 17}
        """
        return translation.to_ids(self.records, payload, fields)

    def to_refs(self, payload: Any, fields: Fields = None) -> Any:
        """Return a copy of a JSON payload with known ids replaced by refs, for a model.

        Without `fields`, every text that is exactly an id is replaced, but no number.

        Raises:
            InvalidDataError: Several types have the id, and no type is given.
        """
        return translation.to_refs(self.records, payload, fields)

    def hide_ids(self, payload: Any, type: str = "") -> Any:
        """Return a copy of JSON data or text with known ids replaced by refs.

        Ids of eight characters or more are found anywhere, also inside texts. Shorter ids are found
        in fields named for ids, and in the field ``id`` of objects in a field named for their type,
        or at the top level if `type` is given.

        >>> registry, soup = SessionIdRegistry().read("recipes", "81b7d3c4-55", turn=1)
        >>> registry.hide_ids("GET /recipes/81b7d3c4-55")
        'GET /recipes/recipe_1'
        >>> registry.hide_ids([{"id": "81b7d3c4-55", "servings": 2}], "recipes")
        [{'id': 'recipe_1', 'servings': 2}]
        """
        return self._hidden_ids.payload(payload, type)

    def name_refs(self, text: str) -> str:
        """Return a text with refs replaced by labels, also those of removed entities.

        >>> registry, soup = SessionIdRegistry().read("recipes", "81b7", "Tomato Soup", turn=1)
        >>> registry.name_refs("recipe_1 is quicker than recipe_2")
        'Tomato Soup is quicker than recipe_2'
        """
        return self._hidden_ids.name_refs(text)

    @cached_property
    def _hidden_ids(self) -> HiddenIds:
        return HiddenIds.from_records(self.records, self.ref_names)

    def _report_seen(self, kind: str, id: EntityId | None, report: Report) -> tuple[Self, str]:
        registry, (ref,) = self._report_all(kind, [(id, report)])
        return registry, ref

    def _report_all(
        self, kind: str, reports: Iterable[tuple[EntityId | None, Report]]
    ) -> tuple[Self, list[str]]:
        name = ref_name(check_type(kind), self.ref_names)
        records, refs = record_seen(self.records, name, kind, reports)
        return self._with(records), refs

    def _with(self, records: Records) -> Self:
        return evolve(self, records=records)

    def __contains__(self, ref: object) -> bool:
        return isinstance(ref, str) and self.records.aliases.get(ref, ref) in self.records.live

    def __iter__(self) -> Iterator[str]:
        return iter(self.records.live)

    def __len__(self) -> int:
        return len(self.records.live)

    def __repr__(self) -> str:
        return f"SessionIdRegistry({len(self)} entities, {len(self.records.removed)} removed)"


def get_entity_context(
    registry: SessionIdRegistry,
    current_turn: int,
    mode: EntityMode | str | None = None,
    *,
    active_turns: int = ACTIVE_TURNS,
) -> EntityContext:
    """Return the entities at an exchange (docs/nodes.md).

    Active entities were referenced in `current_turn` or the `active_turns` before it and not
    demoted. Generated ones are unsaved, whatever their age. Retained ones are the others that have
    a reason. With a `mode`, return what `visible_entities` shows of them.

    Raises:
        InvalidDataError: An exchange below 0.
        InvalidOptionError: There is no such mode.
    """
    context = registry.context(current_turn, active_turns=active_turns)
    return context if mode is None else visible_entities(context, mode)


def _tier_of(entry: Live, oldest: int) -> Tier | None:
    """Return the tier of an entity, or None; a reference since `oldest` makes it active."""
    if not entry.is_saved:
        return Tier.GENERATED
    if entry.snapshot.turn_last_ref >= oldest and not entry.demoted:
        return Tier.ACTIVE
    return None if entry.snapshot.retention_reason is None else Tier.RETAINED
