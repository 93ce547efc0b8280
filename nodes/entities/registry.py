"""The registry of entities: what models call them, what the database calls them, and what happened to them.

A model that is shown database ids garbles, invents and leaks them. It is shown refs
such as ``recipe_1``; the registry alone knows the ids behind them.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Self

from attrs import evolve, field, frozen

from polycontext.linearity import UnknownNameError

from ..checks import check_count, check_not_blank
from . import translation
from .codec import decode, encode, restore
from .names import EntityId, RefRefusedError, check_id, check_names, check_type, ref_name
from .presentation import EntityMode, Tier, visible_entities
from .records import (
    REMEMBERED,
    Data,
    Live,
    Records,
    Report,
    record_generated,
    record_saved,
    record_seen,
)
from .snapshot import (
    CurationAction,
    CurationEntry,
    EntityContext,
    EntitySnapshot,
    EntityStatus,
    Tombstone,
)
from .translation import Fields, HiddenIds

ACTIVE_TURNS = 2
"""How many exchanges before the current one an entity stays active for, unless it is told
otherwise."""


@frozen(repr=False)
class SessionIdRegistry:
    """Know every entity of a session by its ref; immutable (docs/nodes.md).

    Every method that reports or decides takes the number of its exchange, `turn`, and returns a new
    registry; those that may give out a ref return it as well. `ref_names` names types whose
    singular the rule misses (see `singular`). A report that comes late never makes an entity older.

    Laws: a ref is given out once; an entity that is read again keeps its ref; nothing changes
    when an error is raised; ``from_dict(r.to_dict()) == r``.

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

    # --- what Act reports ---------------------------------------------------

    def read(
        self,
        type: str,
        id: EntityId,
        label: str = "",
        *,
        turn: int,
        data: Data = None,
    ) -> tuple[Self, str]:
        """Report that an entity was read; return its ref, the one it had if it was known.

        A blank label keeps the known one, and is the type's name where there is none; data of None
        keep the known data.

        Raises:
            InvalidDataError: a type, id, label or exchange that is none, data that are no JSON
                object.
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
        """Report that an entity was created in the database; otherwise as `read`."""
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
        """Report that another entity points at this one.

        It is LINKED unless more is known; otherwise as `read`.
        """
        known = self._records.find((check_type(type), check_id(id)))
        return self._report_seen(
            type, id, Report(turn, None if known else EntityStatus.LINKED, label, data)
        )

    def generate(
        self, type: str, label: str = "", *, turn: int, data: Data = None
    ) -> tuple[Self, str]:
        """Report that the model made an entity that is in no database; return its ref, ``gen_...``.

        Raise `InvalidDataError` as `read`.
        """
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
        """Report that the database took a generated entity.

        Return the ref by which it goes from now on.

        That is a new one, as for any created entity, or the one of the entity with this id. The
        ``gen_...`` ref leads there for good. Saving twice with one id is saving once.

        Raises:
            UnknownRefError: no such ref.
            RefRefusedError: it is saved already, under another id.
        """
        name = ref_name(self._records.entity(ref).snapshot.type, self.ref_names)
        records, new = record_saved(
            self._records, name, ref, id, Report(turn, EntityStatus.CREATED, label, data)
        )
        return self._with(records), new

    def update(self, ref: str, label: str = "", *, turn: int, data: Data = None) -> Self:
        """Report a new label or new data, which replace the known.

        What is generated stays so until it is saved.

        Raise `UnknownRefError` if there is no such ref.
        """
        entry = self._records.entity(ref)
        report = Report(turn, EntityStatus.UPDATED if entry.is_saved else None, label, data)
        return self._with(self._records.put(report.of(entry)))

    def touch(self, ref: str, *, turn: int) -> Self:
        """Report that an exchange referenced an entity, which is active again.

        Raise `UnknownRefError` if there is none.
        """
        return self._with(self._records.put(Report(turn).of(self._records.entity(ref))))

    def delete(self, ref: str, reason: str = "deleted", *, turn: int) -> Self:
        """Report that an entity left the database; a tombstone stays.

        Raises:
            UnknownRefError: no such ref.
            RefRefusedError: it was never saved.
        """
        entry = self._records.entity(ref)
        if not entry.is_saved:
            raise RefRefusedError(ref, "is generated and in no database", "Save or drop it")
        return self._with(
            self._records.remove([entry.snapshot.ref], turn, reason, EntityStatus.DELETED)
        )

    # --- what Understand decides --------------------------------------------

    def retain(self, ref: str, reason: str, *, turn: int) -> Self:
        """Keep an entity in mind when it is active no more; that is no reference to it.

        Raises:
            UnknownRefError: no such ref.
            InvalidDataError: a blank reason.
        """
        entry = self._records.entity(ref)
        known = evolve(entry.snapshot, retention_reason=check_not_blank(reason, "reason"))
        records = self._records.put(evolve(entry, snapshot=known))
        return self._decide(records, turn, CurationAction.RETAIN, known.ref, reason)

    def demote(self, ref: str, reason: str = "", *, turn: int) -> Self:
        """Take an entity out of mind, out of the active tier at once, until it is referenced again.

        Raises:
            UnknownRefError: no such ref.
            RefRefusedError: it is generated and not saved.
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
        """Forget an entity, a generated one too; a tombstone stays.

        Raise `UnknownRefError` if there is none.
        """
        current = self._records.resolve(ref)
        records = self._records.remove([current], turn, reason)
        return self._decide(records, turn, CurationAction.DROP, current, reason)

    def clear_all(
        self, reason: str = "cleared", *, turn: int, include_generated: bool = False
    ) -> Self:
        """Forget every entity, what is generated and not saved only if that is said.

        Tombstones and counters stay.
        """
        gone = [
            ref for ref, entry in self._records.live.items() if entry.is_saved or include_generated
        ]
        records = self._records.remove(gone, turn, reason)
        return self._decide(records, turn, CurationAction.CLEAR, None, reason)

    # --- what is known ------------------------------------------------------

    def context(self, current_turn: int, *, active_turns: int = ACTIVE_TURNS) -> EntityContext:
        """Return what exists at an exchange, in its tiers and without ids.

        See `get_entity_context`.
        """
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
        """Return the entity that a ref names, an earlier one too, its data as they came, ids included; for code, not for prompts.

        Raise `UnknownRefError` if there is no such ref.
        """
        return self._records.entity(ref).snapshot

    @property
    def tombstones(self) -> tuple[Tombstone, ...]:
        """Return the tombstones of the refs removed last, 500 at the most, in the order of removal."""
        return tuple(gone.tombstone for gone in self._records.removed.values())

    def id_of(self, ref: str) -> EntityId:
        """Return the database id behind a ref.

        Raises:
            UnknownRefError: no such ref.
            RefRefusedError: it is generated and has no id yet.
        """
        return translation.id_of(self._records, ref)

    def ref_of(self, id: EntityId, type: str | None = None) -> str:
        """Return the ref by which an id is known, or was last known.

        Raises:
            UnknownNameError: it never was.
            InvalidDataError: several types have it, and none is said.
        """
        ref = translation.ref_of(self._records, id, type)
        if ref is None:
            of = "any type" if type is None else f"type {type!r}"
            legal = ("an id that was read, created, linked or saved before",)
            raise UnknownNameError(f"{id.__class__.__name__} id of {of}", str(id), legal)
        return ref

    def to_ids(self, payload: Any, fields: Fields = None) -> Any:
        """Return a copy of a JSON payload with ids for refs, on its way to the database.

        In the named `fields`, at any depth, every value but None must be a ref, alone or in a list;
        a mapping also says of which type. Without `fields` every text that is exactly a ref is one.

        Raises:
            UnknownRefError: a ref that names nothing, with near misses and its path.
            RefRefusedError: a ref without an id yet, or of another type than said.

        >>> registry, soup = SessionIdRegistry().read("recipes", 17, turn=1)
        >>> registry.to_ids({"recipe_id": soup, "servings": 4}), registry.to_refs({"recipe_id": 17, "servings": 17}, ["recipe_id"])
        ({'recipe_id': 17, 'servings': 4}, {'recipe_id': 'recipe_1', 'servings': 17})
        """
        return translation.to_ids(self._records, payload, fields)

    def to_refs(self, payload: Any, fields: Fields = None) -> Any:
        """Return a copy of a JSON payload with refs for ids, on its way to a model.

        Unknown ids stay.

        Without `fields` every text that is exactly an id is one; ids that are numbers are found in
        named fields alone.

        Raises:
            InvalidDataError: an id of several types, where no type is said.
        """
        return translation.to_refs(self._records, payload, fields)

    def hide_ids(self, payload: Any, type: str = "") -> Any:
        """Return a copy of JSON data, or a text, that shows refs wherever it holds known ids, as an `EntityContext` does.

        Ids of eight characters or more are found anywhere, inside of texts too; shorter ones in
        fields named for ids, and in the field ``id`` of objects that stand in a field named for
        their type, or at the top where `type` is said.

        >>> registry, soup = SessionIdRegistry().read("recipes", "81b7d3c4-55", turn=1)
        >>> registry.hide_ids("GET /recipes/81b7d3c4-55"), registry.hide_ids([{"id": "81b7d3c4-55", "servings": 2}], "recipes")
        ('GET /recipes/recipe_1', [{'id': 'recipe_1', 'servings': 2}])
        """
        return self._hidden_ids.payload(payload, type)

    def name_refs(self, text: str) -> str:
        """Return a text with labels for the refs in it, of removed entities too, for those who talk about entities and see no refs.

        >>> registry, soup = SessionIdRegistry().read("recipes", "81b7d3c4-55", "Tomato Soup", turn=1)
        >>> registry.name_refs("recipe_1 is quicker than recipe_2")
        'Tomato Soup is quicker than recipe_2'
        """
        return self._hidden_ids.name_refs(text)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole registry as JSON-ready data, ids included: for a store, never for a prompt."""
        return encode(self.ref_names, self._records, self.log)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the registry that `to_dict` wrote.

        Raise `InvalidDataError` naming the path of the first fault.
        """
        document = decode(data)
        return cls(document.ref_names, _log=document.log, _records=restore(document))

    @cached_property
    def _hidden_ids(self) -> HiddenIds:
        return HiddenIds.from_records(self._records, self.ref_names)

    def _report_seen(self, kind: str, id: EntityId, report: Report) -> tuple[Self, str]:
        name = ref_name(check_type(kind), self.ref_names)
        records, ref = record_seen(self._records, name, kind, id, report)
        return self._with(records), ref

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
    registry: SessionIdRegistry | Mapping[str, Any],
    current_turn: int,
    mode: EntityMode | str | None = None,
    *,
    active_turns: int = ACTIVE_TURNS,
) -> EntityContext:
    """Return what exists at an exchange, in its tiers, from a registry or its stored dict (docs/nodes.md).

    Active are entities referenced in `current_turn` or in the `active_turns` before it, unless they
    were demoted; generated those that are not saved, whatever their age; retained the others that
    have a reason. With a `mode`, what that mode sees of it alone, as `visible_entities`.

    Raises:
        InvalidDataError: a dict that `to_dict` did not write, an exchange below 0.
        InvalidOptionError: no such mode.
    """
    live = (
        registry
        if isinstance(registry, SessionIdRegistry)
        else SessionIdRegistry.from_dict(registry)
    )
    context = live.context(current_turn, active_turns=active_turns)
    return context if mode is None else visible_entities(context, mode)


def _tier_of(entry: Live, oldest: int) -> Tier | None:
    """Return the tier of an entity, None if it is out of mind.

    Active are those referenced in exchange `oldest` or later.

    Laws: a generated entity is shown whatever its age; a demoted one is not active.
    """
    if not entry.is_saved:
        return Tier.GENERATED
    if entry.snapshot.turn_last_ref >= oldest and not entry.demoted:
        return Tier.ACTIVE
    return None if entry.snapshot.retention_reason is None else Tier.RETAINED
