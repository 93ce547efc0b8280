"""What items refuse, and what would have been legal."""

from typing import TYPE_CHECKING

from attrs import define

from polycontext.linearity import CallerError, CollaboratorError

if TYPE_CHECKING:
    from polycontext.window.items.item import ContextItem


class MetadataWarning(UserWarning):
    """Point at metadata that are legal but look like a mistake, such as a near miss of a known key."""


@define(slots=False, eq=False)
class InvalidItemError(CallerError, ValueError):
    """Refuse a context item that breaks one of its invariants, or an option about items."""

    field: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"item field {self.field!r}: {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class ItemFormatError(CallerError, ValueError):
    """Refuse a document that is no context item; `path` names the place, such as ``$.metadata.start_line``."""

    path: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class DuplicateItemError(CallerError, ValueError):
    """Refuse an item that is held already; `existing` is the one that is there, `what` is what they share."""

    item: "ContextItem"
    existing: "ContextItem"
    what: str

    def __str__(self) -> str:
        return f"item {self.item.id!r} has the {self.what} of {self.existing.id!r}, which is held already; legal: an item that is not held"


@define(slots=False, eq=False)
class UnknownItemError(CallerError, KeyError):
    """Refuse the id of an item that is not held; `near` are ids that look like it."""

    item_id: str
    near: tuple[str, ...] = ()

    def __str__(self) -> str:
        legal = f"did you mean {' or '.join(map(repr, self.near))}?" if self.near else "legal: the id of an item that is held"
        return f"item {self.item_id!r} is not held; {legal}"


@define(slots=False, eq=False)
class ItemTooLargeError(CallerError, ValueError):
    """Refuse an item that alone takes more tokens than all items together may."""

    item_id: str
    tokens: int
    max_tokens: int

    def __str__(self) -> str:
        return f"item {self.item_id!r} takes {self.tokens} tokens; legal: at most {self.max_tokens}"


@define(slots=False, eq=False)
class FormatterError(CollaboratorError, RuntimeError):
    """Report that the registered formatter of a custom kind failed."""

    kind: str
    item_id: str
    problem: str

    def __str__(self) -> str:
        return f"formatter of {self.kind!r} items, on {self.item_id!r}: {self.problem}; legal: text that encodes as UTF-8"
