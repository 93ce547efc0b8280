"""The records of layer 1: entities, tombstones, tiers and curation decisions (docs/nodes.md)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import define, field, frozen
from attrs.validators import optional

from polycontext.base import CallerError, InvalidDataError
from polycontext.base.json_data import FrozenDict

from ..checks import is_not_blank, is_text, object_or_none, parse_member, whole_from
from .names import is_ref, is_type


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


class CurationAction(StrEnum):
    """The kinds of curation decision of Understand."""

    RETAIN = "retain"
    DEMOTE = "demote"
    DROP = "drop"
    CLEAR = "clear"


def _action(value: CurationAction | str) -> CurationAction:
    return parse_member(CurationAction, "action", value)


@frozen
class CurationEntry:
    """One decision: its exchange, its ref (None if it concerned all entities), and the reason."""

    turn: int = field(validator=whole_from(0))
    action: CurationAction = field(converter=_action)
    ref: str | None = field(validator=optional(is_text))
    reason: str = field(validator=is_text)
