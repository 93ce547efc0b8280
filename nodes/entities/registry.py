"""The registry of entities: their refs, their database ids and what happened to them.

Models garble, invent and leak database ids, so a model is shown refs such as ``recipe_1``.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self

from attrs import evolve, field, frozen

from polycontext.base import UnknownNameError

from ..checks import check_count, check_not_blank
from . import translation
from .names import EntityId, RefRefusedError, check_names, check_type, ref_name
from .presentation import EntityMode, Tier, visible_entities
from .records import (
    REMEMBERED,
    CurationAction,
    CurationEntry,
    Data,
    EntityContext,
    EntitySnapshot,
    EntityStatus,
    Live,
    Records,
    Report,
    Tombstone,
    record_generated,
    record_saved,
    record_seen,
)
from .translation import Fields, HiddenIds

ACTIVE_TURNS = 2
"""The default number of exchanges for which an entity stays active after its last reference."""


@frozen(repr=False)
class SessionIdRegistry:
    """The entities of a session by ref; immutable (docs/nodes.md).

    Methods that report or decide take an exchange number, `turn`, and return a new registry; those
    that may assign a ref return it as well. `ref_names` names types that `singular` gets wrong.

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
    log: tuple[CurationEntry, ...] = field(default=(), alias="_log")
    _records: Records = field(default=Records(), alias="_records", hash=False)

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

    def report(
        self,
        status: EntityStatus,
        type: str,
        rows: Iterable[tuple[EntityId, str, Data]],
        *,
        turn: int,
    ) -> Self:
        """Report rows of one type, each with its id, label and data; see `read`.

        `status` is READ, CREATED or LINKED. Takes time linear in the number of rows.
        """
        reports = ((id, Report(turn, status, label, data)) for id, label, data in rows)
        return self._report_all(type, reports)[0]

    def generate(
        self, type: str, label: str = "", *, turn: int, data: Data = None
    ) -> tuple[Self, str]:
        """Report an entity that the model made, and return its ref, ``gen_...``; see `read`."""
        name = ref_name(check_type(type), self.ref_names)
        records, ref = record_generated(self._records, name, type, Report(turn, None, label, data))
        return self._with(records), ref

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
        name = ref_name(self._records.entity(ref).snapshot.type, self.ref_names)
        records, new = record_saved(
            self._records, name, ref, id, Report(turn, EntityStatus.CREATED, label, data)
        )
        return self._with(records), new

    def update(self, ref: str, label: str = "", *, turn: int, data: Data = None) -> Self:
        """Report a new label or data, or raise `UnknownRefError`; unsaved ones stay GENERATED."""
        entry = self._records.entity(ref)
        report = Report(turn, EntityStatus.UPDATED if entry.is_saved else None, label, data)
        return self._with(self._records.put(report.of(entry)))

    def touch(self, ref: str, *, turn: int) -> Self:
        """Report a reference, which makes the entity active; raise `UnknownRefError` if unknown."""
        return self._with(self._records.put(Report(turn).of(self._records.entity(ref))))

    def delete(self, ref: str, reason: str = "deleted", *, turn: int) -> Self:
        """Report that an entity was deleted from the database, and leave a tombstone.

        Raises:
            UnknownRefError: There is no such ref.
            RefRefusedError: The entity was never saved.
        """
        entry = self._records.entity(ref)
        if not entry.is_saved:
            raise RefRefusedError(ref, "is generated and in no database", "Save or drop it")
        return self._with(
            self._records.remove([entry.snapshot.ref], turn, reason, EntityStatus.DELETED)
        )

    # --- decisions of Understand --------------------------------------------

    def retain(self, ref: str, reason: str, *, turn: int) -> Self:
        """Keep an entity in mind after it stops being active; this does not reference it.

        Raises:
            UnknownRefError: There is no such ref.
            InvalidDataError: The reason is blank.
        """
        entry = self._records.entity(ref)
        known = evolve(entry.snapshot, retention_reason=check_not_blank(reason, "reason"))
        records = self._records.put(evolve(entry, snapshot=known))
        return self._decide(records, turn, CurationAction.RETAIN, known.ref, reason)

    def demote(self, ref: str, reason: str = "", *, turn: int) -> Self:
        """Remove an entity from the active and retained tiers until it is referenced again.

        Raises:
            UnknownRefError: There is no such ref.
            RefRefusedError: The entity is generated and not saved.
        """
        entry = self._records.entity(ref)
        if not entry.is_saved:
            raise RefRefusedError(
                ref, "is generated and not saved, so it stays in sight", "Save or drop it"
            )
        known = evolve(entry.snapshot, retention_reason=None)
        records = self._records.put(evolve(entry, demoted=True, snapshot=known))
        return self._decide(records, turn, CurationAction.DEMOTE, known.ref, reason)

    def drop(self, ref: str, reason: str = "dropped", *, turn: int) -> Self:
        """Replace any entity by a tombstone; raise `UnknownRefError` if there is no such ref."""
        current = self._records.resolve(ref)
        records = self._records.remove([current], turn, reason)
        return self._decide(records, turn, CurationAction.DROP, current, reason)

    def clear_all(
        self, reason: str = "cleared", *, turn: int, include_generated: bool = False
    ) -> Self:
        """Remove every saved entity, or all with `include_generated`, and leave tombstones."""
        gone = [
            ref for ref, entry in self._records.live.items() if entry.is_saved or include_generated
        ]
        records = self._records.remove(gone, turn, reason)
        return self._decide(records, turn, CurationAction.CLEAR, None, reason)

    # --- queries ------------------------------------------------------------

    def context(self, current_turn: int, *, active_turns: int = ACTIVE_TURNS) -> EntityContext:
        """Return the entities at an exchange by tier, without ids; see `get_entity_context`."""
        oldest = check_count(current_turn, "current_turn") - check_count(
            active_turns, "active_turns"
        )
        tiers = [(_tier_of(entry, oldest), entry.snapshot) for entry in self._records.live.values()]
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
        return self._records.entity(ref).snapshot

    @property
    def tombstones(self) -> tuple[Tombstone, ...]:
        """Return the tombstones of the last 500 removed refs at most, in order of removal."""
        return tuple(gone.tombstone for gone in self._records.removed.values())

    def id_of(self, ref: str) -> EntityId:
        """Return the database id behind a ref.

        Raises:
            UnknownRefError: There is no such ref.
            RefRefusedError: The entity is generated and has no id yet.
        """
        return translation.id_of(self._records, ref)

    def ref_of(self, id: EntityId, type: str | None = None) -> str:
        """Return the last ref by which an id was known.

        Raises:
            UnknownNameError: The id was never known.
            InvalidDataError: Several types have the id, and `type` is not given.
        """
        ref = translation.ref_of(self._records, id, type)
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
        return translation.to_ids(self._records, payload, fields)

    def to_refs(self, payload: Any, fields: Fields = None) -> Any:
        """Return a copy of a JSON payload with known ids replaced by refs, for a model.

        Without `fields`, every text that is exactly an id is replaced, but no number.

        Raises:
            InvalidDataError: Several types have the id, and no type is given.
        """
        return translation.to_refs(self._records, payload, fields)

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
        return HiddenIds.from_records(self._records, self.ref_names)

    def _report_seen(self, kind: str, id: EntityId, report: Report) -> tuple[Self, str]:
        registry, (ref,) = self._report_all(kind, [(id, report)])
        return registry, ref

    def _report_all(
        self, kind: str, reports: Iterable[tuple[EntityId, Report]]
    ) -> tuple[Self, list[str]]:
        name = ref_name(check_type(kind), self.ref_names)
        records, refs = record_seen(self._records, name, kind, reports)
        return self._with(records), refs

    def _with(self, records: Records) -> Self:
        return evolve(self, _records=records)

    def _decide(
        self, records: Records, turn: int, action: CurationAction, ref: str | None, reason: str
    ) -> Self:
        entry = CurationEntry(turn, action, ref, reason)
        return evolve(self, _records=records, _log=(*self.log, entry)[-REMEMBERED:])

    def __contains__(self, ref: object) -> bool:
        return isinstance(ref, str) and self._records.aliases.get(ref, ref) in self._records.live

    def __iter__(self) -> Iterator[str]:
        return iter(self._records.live)

    def __len__(self) -> int:
        return len(self._records.live)

    def __repr__(self) -> str:
        return f"SessionIdRegistry({len(self)} entities, {len(self._records.removed)} removed)"


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
