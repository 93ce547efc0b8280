"""What the registry of entities refuses, and what would have been legal."""

from typing import TYPE_CHECKING

from attrs import define

from polycontext.linearity import CallerError

if TYPE_CHECKING:
    from polycontext.nodes.entities.snapshot import Tombstone


@define(slots=False, eq=False)
class UnknownRefError(CallerError, KeyError):
    """Refuse a ref that names nothing now.

    `near` are known refs that look like it, `tombstone` tells when and why the ref was
    removed, `path` is its place in a translated payload, such as ``$.items[2].recipe_id``.
    """

    ref: str
    near: tuple[str, ...] = ()
    tombstone: "Tombstone | None" = None
    path: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        if self.tombstone is not None:
            return f"{where}ref {self.ref!r} was removed in turn {self.tombstone.turn_removed}; legal: a ref that still stands"
        legal = f"did you mean {' or '.join(map(repr, self.near))}?" if self.near else "legal: a ref that the registry gave out"
        return f"{where}ref {self.ref!r} is not in the registry; {legal}"


@define(slots=False, eq=False)
class RefRefusedError(CallerError, ValueError):
    """Refuse an action that the entity behind a known ref does not allow."""

    ref: str
    problem: str
    legal: str
    path: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}ref {self.ref!r} {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class UnknownIdError(CallerError, KeyError):
    """Refuse a database id for which no ref was ever given out, or none of this type."""

    id: str | int
    type: str | None

    def __str__(self) -> str:
        kind = "any type" if self.type is None else f"type {self.type!r}"
        return f"id {self.id!r} has no ref of {kind}; legal: an id that was read, created, linked or saved before"


@define(slots=False, eq=False)
class AmbiguousIdError(CallerError, ValueError):
    """Refuse a database id that entities of several types share, as long as no type is said."""

    id: str | int
    types: tuple[str, ...]
    path: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}id {self.id!r} belongs to several types; legal: saying which of {', '.join(self.types)}"


@define(slots=False, eq=False)
class UnknownModeError(CallerError, ValueError):
    """Refuse a mode in which no entity context can be shown."""

    mode: object
    legal: tuple[str, ...]

    def __str__(self) -> str:
        return f"unknown mode {self.mode!r}; legal: {', '.join(self.legal)}"


@define(slots=False, eq=False)
class EntityFormatError(CallerError, ValueError):
    """Refuse data that is no stored registry; `path` names the place, such as ``$.entities[3].status``."""

    path: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; legal: {self.legal}"
