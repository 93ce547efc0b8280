"""The entities that each mode shows, and how they are printed (docs/nodes.md).

Labels, reasons and data come from users, models and databases. Each is printed on one line as
quoted JSON, so it cannot pose as a heading, a fence or an instruction of the prompt.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, assert_never

from attrs import evolve

from polycontext.base import InvalidOptionError
from polycontext.linearity import ResourceClass

from ..prompt_text import Entry, Part, drop_empty, json_line, part, render_parts
from .records import EntityContext, EntitySnapshot, EntityStatus, Tombstone


class Tier(StrEnum):
    """The parts of an `EntityContext`."""

    ACTIVE = "active"
    GENERATED = "generated"
    RETAINED = "retained"
    TOMBSTONES = "tombstones"


class Detail(Enum):
    """How much of an entity is shown."""

    NONE = "none"
    REFS = "refs"
    LABELS = "labels"
    REFS_AND_LABELS = "refs and labels"
    FULL = "full"


class EntityMode(StrEnum):
    """The ways to show an entity context, each made for one node."""

    FULL = "full"
    """For Act: full data of the entities in use. ``full_data`` is an alias."""
    REFS_AND_LABELS = "refs_and_labels"
    """For Think: the entities that it can plan with."""
    LABELS_ONLY = "labels_only"
    """For Reply, under the name that its builder uses."""
    REPLY = "reply"
    """For Reply: labels without refs."""
    DO_NOT_READ = "do_not_read"
    """For Think: one line of refs that need no reading."""
    CURATION = "curation"
    """For Understand: everything, with ages and reasons."""

    @classmethod
    def _missing_(cls, value: object) -> "EntityMode | None":
        """Return the mode for the alias ``full_data``."""
        return cls.FULL if value == "full_data" else None

    @classmethod
    def of(cls, mode: "EntityMode | str") -> "EntityMode":
        """Return the mode of this name; raise `InvalidOptionError`, which lists the modes."""
        try:
            return cls(mode)
        except ValueError:
            raise InvalidOptionError("mode", mode, ", ".join(cls)) from None


def _row(*details: Detail) -> Mapping[Tier, Detail]:
    return MappingProxyType(dict(zip(Tier, details, strict=True)))


_NONE, _REFS, _LABELS, _BOTH, _FULL = Detail
_LABELS_ALONE = _row(_LABELS, _LABELS, _NONE, _NONE)

ENTITY_TABLE: Mapping[EntityMode, Mapping[Tier, Detail]] = MappingProxyType(
    {
        EntityMode.FULL: _row(_FULL, _FULL, _NONE, _NONE),
        EntityMode.REFS_AND_LABELS: _row(_BOTH, _BOTH, _REFS, _REFS),
        EntityMode.LABELS_ONLY: _LABELS_ALONE,
        EntityMode.REPLY: _LABELS_ALONE,
        EntityMode.DO_NOT_READ: _row(_REFS, _REFS, _REFS, _NONE),
        EntityMode.CURATION: _row(_FULL, _FULL, _FULL, _FULL),
    }
)
"""The entities that each mode shows (docs/nodes.md, "Modes").

Only planning and curation see tombstones.
"""

_HEADINGS = dict(zip(Tier, ("Active", "Generated, not saved", "Retained", "Removed"), strict=True))

_NAMED = 100
"""The most refs in a line that must be kept verbatim."""

_Entity = EntitySnapshot | Tombstone


def visible_entities(ctx: EntityContext, mode: EntityMode | str) -> EntityContext:
    """Return `ctx` reduced to what the mode may see, so that printing has nothing to hide.

    Hidden tiers are empty; hidden refs, labels, reasons and data are blank. Raise
    `InvalidOptionError` for an unknown mode.
    """
    known = EntityMode.of(mode)
    tiers: dict[str, Any] = {
        tier: tuple(
            _restrict(each, detail, reasons=known is EntityMode.CURATION)
            for each in getattr(ctx, tier)
            if detail is not Detail.NONE
        )
        for tier, detail in ENTITY_TABLE[known].items()
    }
    return EntityContext(**tiers, current_turn=ctx.current_turn)


def _restrict(shown: _Entity, detail: Detail, *, reasons: bool) -> _Entity:
    ref = "" if detail is Detail.LABELS else shown.ref
    label = "" if detail is Detail.REFS else shown.label
    if isinstance(shown, Tombstone):
        own: dict[str, Any] = {"reason": shown.reason if reasons else ""}
    else:
        own = {
            "data": shown.data if detail is Detail.FULL else None,
            "retention_reason": shown.retention_reason if reasons else None,
        }
    return evolve(shown, ref=ref, label=label, **own)


def entity_parts(ctx: EntityContext, mode: EntityMode | str) -> tuple[Part, ...]:
    """Return what a mode sees of `ctx` as parts with one entry per entity.

    The short form of an entry is the entity's name. Law: no line starts with anything that an
    entity holds, except its ref.
    """
    known = EntityMode.of(mode)
    seen = visible_entities(ctx, known)
    if known is EntityMode.DO_NOT_READ:
        return drop_empty([part("Known already", [do_not_read(seen)], ResourceClass.PRESERVED)])
    # Only the curating node needs ages.
    since = ctx.current_turn if known is EntityMode.CURATION else None
    return drop_empty(
        Part(_HEADINGS[tier], _entries(detail, getattr(seen, tier), since))
        for tier, detail in ENTITY_TABLE[known].items()
    )


def do_not_read(ctx: EntityContext) -> str:
    """Return the line that lists the refs that need no reading, or an empty text if there are none.

    Linked entities are left out, because they were never read. The line must be kept verbatim by
    some nodes, so it lists at most the 100 entities referenced last and counts the others.
    """
    read = [
        each
        for tier in (ctx.active, ctx.generated, ctx.retained)
        for each in tier
        if each.status is not EntityStatus.LINKED
    ]
    # Chosen by age, but listed in the order in which refs were assigned, as everywhere else.
    newest = {each.ref for each in sorted(read, key=lambda each: each.turn_last_ref)[-_NAMED:]}
    more = f", and {len(read) - _NAMED} more" if len(read) > _NAMED else ""
    return (
        f"DO NOT re-read: {', '.join(each.ref for each in read if each.ref in newest)}{more}"
        if read
        else ""
    )


def _entries(detail: Detail, tier: Sequence[_Entity], since: int | None) -> list[Entry]:
    match detail:
        case Detail.NONE:
            return []
        case Detail.REFS:
            return [Entry(", ".join(each.ref for each in tier))] if tier else []
        case Detail.LABELS:
            return [Entry(f"- {json_line(each.label)}", json_line(each.label)) for each in tier]
        case Detail.REFS_AND_LABELS:
            return [Entry(f"- {each.ref}: {json_line(each.label)}", each.ref) for each in tier]
        case Detail.FULL:
            return [
                Entry(json_line(_facts(each, since)), f"{each.ref} {json_line(each.label)}")
                for each in tier
            ]
        case _:
            assert_never(detail)


def _facts(shown: _Entity, since: int | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "ref": shown.ref,
        "type": shown.type,
        "label": shown.label,
        "status": shown.status.value,
    }
    if isinstance(shown, Tombstone):
        return {**facts, "turn_removed": shown.turn_removed, "reason": shown.reason}
    if since is not None:
        facts |= {
            "turn_created": shown.turn_created,
            "turn_last_ref": shown.turn_last_ref,
            "age": max(0, since - shown.turn_last_ref),
        }
    data = {key: value for key, value in (shown.data or {}).items() if value != shown.ref}
    known = {"retention_reason": shown.retention_reason, "data": data or None}
    return facts | {name: value for name, value in known.items() if value is not None}


def format_entity_context(ctx: EntityContext, mode: EntityMode | str) -> str:
    """Return `ctx` as text with the detail that `ENTITY_TABLE` grants the mode (docs/nodes.md).

    Raises:
        InvalidOptionError: There is no such mode; the error lists the modes.

    >>> from polycontext.nodes.entities.records import EntityContext, EntitySnapshot
    >>> soup = EntitySnapshot("recipe_1", "recipes", "Soup", "read", 1, 2)
    >>> print(format_entity_context(EntityContext(active=(soup,)), "refs_and_labels"))
    ### Active
    - recipe_1: "Soup"
    >>> print(format_entity_context(EntityContext(active=(soup,)), "do_not_read"))
    DO NOT re-read: recipe_1
    """
    if EntityMode.of(mode) is EntityMode.DO_NOT_READ:
        return do_not_read(visible_entities(ctx, mode)) or "DO NOT re-read: nothing"
    return render_parts(entity_parts(ctx, mode), "No entities.")
