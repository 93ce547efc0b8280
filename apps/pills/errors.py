"""Errors of pills, with messages that can be shown to users unchanged.

``str(error)`` is the message for the user (docs/attachments.md). The problem and the accepted
values are in fields, and in a note that a traceback prints.
"""

from enum import StrEnum
from typing import ClassVar

from attrs import define

from polycontext.base import CallerError, advised


@define(slots=False, eq=False)
class PillError(CallerError):
    """Base class of errors about one pill, which is called `name`."""

    message: ClassVar = "Invalid context"
    name: str
    problem: str
    legal: str

    def __attrs_post_init__(self) -> None:
        self.add_note(advised(f"{self.name!r}: {self.problem}", f"Use {self.legal}"))

    def __str__(self) -> str:
        return self.message


class InvalidPillNameError(PillError, ValueError):
    """Raised for a name that is not valid in a pill, or that a resolver may not look up."""

    message = "Invalid context name"


class DuplicatePillError(PillError, ValueError):
    """Raised for context that is already attached; update the existing pill instead."""

    message = "Context already attached"


class Reason(StrEnum):
    """Why the content of a pill is not available, in the words shown to the user."""

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
    """Raised when the content of a pill is not available.

    The user can always remove or update the pill. `reason` is None if a custom resolver fails for a
    reason that is not listed in `Reason`.
    """

    reason: Reason | None = None

    @property
    def is_missing(self) -> bool:
        """Return whether the content does not exist here, so that another resolver may find it."""
        return self.reason in _MISSING

    def __str__(self) -> str:
        return f"Cannot attach context: {self.reason}" if self.reason else "Cannot attach context"
