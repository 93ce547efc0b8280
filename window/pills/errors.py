"""What pills refuse: messages that a user is shown as they are, and every fact beside them.

``str(error)`` is what a user is shown (docs/attachments.md). What was wrong
and what would be legal are fields, and a note that a traceback prints.
"""

from enum import StrEnum
from typing import ClassVar

from attrs import define

from polycontext.linearity import CallerError


@define(slots=False, eq=False)
class PillError(CallerError):
    """Stand at the root of what is wrong with one pill; `name` is the pill's."""

    message: ClassVar = "Invalid context"
    name: str
    problem: str
    legal: str

    def __attrs_post_init__(self) -> None:
        self.add_note(f"{self.name!r}: {self.problem}. Use {self.legal}.")

    def __str__(self) -> str:
        return self.message


class InvalidPillNameError(PillError, ValueError):
    """Refuse a name that cannot stand in a pill, or that a resolver may not even look for."""

    message = "Invalid context name"


class DuplicatePillError(PillError, ValueError):
    """Refuse to attach the same context twice; legal is to update the pill that is there."""

    message = "Context already attached"


class Reason(StrEnum):
    """Say why the content of a pill cannot be had; the words are those a user is shown."""

    FILE_NOT_FOUND = "file not found"
    SYMBOL_NOT_FOUND = "symbol not found"
    BUFFER_NOT_FOUND = "buffer not found"
    AMBIGUOUS = "symbol is ambiguous"
    OUTSIDE = "outside of the roots"
    UNREADABLE = "file cannot be read"
    NOT_A_FILE = "not a regular file"
    TOO_LARGE = "file too large"
    BINARY = "binary file"
    UNKNOWN_ENCODING = "unknown encoding"
    CHANGED = "file changed while it was read"
    KEPT_BACK = "file is kept back"


_MISSING = frozenset({Reason.FILE_NOT_FOUND, Reason.SYMBOL_NOT_FOUND, Reason.BUFFER_NOT_FOUND})


@define(slots=False, eq=False)
class CannotAttachError(PillError, LookupError):
    """Report that the content of a pill cannot be had now.

    Legal is always to remove or update the pill.

    A resolver of the caller's own may have a `reason` that is none of these: None.
    """

    reason: Reason | None = None

    @property
    def is_missing(self) -> bool:
        """Tell whether it is not there at all, so that another resolver may still find it."""
        return self.reason in _MISSING

    def __str__(self) -> str:
        return f"Cannot attach context: {self.reason}" if self.reason else "Cannot attach context"
