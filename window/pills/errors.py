"""What pills refuse: the seed's messages, word for word, and every fact beside them.

``str(error)`` is what a user is shown (seed 001, "Error Messages"). What was wrong
and what would be legal are fields, and a note that a traceback prints.
"""

from typing import ClassVar

from attrs import define

from polycontext.linearity import CallerError, CollaboratorError


@define(slots=False, eq=False)
class PillError(CallerError):
    """Stand at the root of what is wrong with one pill; `name` is the pill's."""

    message: ClassVar[str] = "Invalid context"

    name: str
    problem: str
    legal: str

    def __attrs_post_init__(self) -> None:
        self.add_note(f"{self.name!r}: {self.problem}; legal: {self.legal}")

    def __str__(self) -> str:
        return self.message


class InvalidPillNameError(PillError, ValueError):
    """Refuse a name that cannot stand in a pill, or that a resolver may not even look for."""

    message = "Invalid context name"


class DuplicatePillError(PillError, ValueError):
    """Refuse to attach the same context twice; legal is to update the pill that is there."""

    message = "Context already attached"


class UnknownPillError(PillError, LookupError):
    """Refuse to remove, update or visit a pill that the document does not hold."""

    message = "Context not attached"


class CannotAttachError(PillError):
    """Stand at the root of why the content of a pill cannot be had now; legal is always to remove or update the pill."""

    message = "Cannot attach context"


class ContextNotFoundError(CannotAttachError, LookupError):
    """Report that the file is not there, or not there any more."""

    message = "Cannot attach context: file not found"


class SymbolNotFoundError(ContextNotFoundError):
    """Report that no definition of that name is there."""

    message = "Cannot attach context: symbol not found"


class BufferNotFoundError(ContextNotFoundError):
    """Report that no buffer of that name is there."""

    message = "Cannot attach context: buffer not found"


class AmbiguousSymbolError(CannotAttachError, LookupError):
    """Report that several definitions go by that name."""

    message = "Cannot attach context: symbol is ambiguous"


class OutsideRootsError(CannotAttachError):
    """Refuse a symbolic link that leads out of its root."""

    message = "Cannot attach context: outside of the roots"


class UnreadableError(CannotAttachError):
    """Report that the system does not let the file be read."""

    message = "Cannot attach context: file cannot be read"


class NotAFileError(CannotAttachError):
    """Refuse a folder, device, FIFO or socket."""

    message = "Cannot attach context: not a regular file"


class TooLargeError(CannotAttachError):
    """Refuse a file that is too large to be read whole."""

    message = "Cannot attach context: file too large"


class BinaryFileError(CannotAttachError):
    """Refuse a file that holds no text."""

    message = "Cannot attach context: binary file"


class UndecodableError(CannotAttachError):
    """Refuse text whose encoding is not known; guessing could hand the model other words than the file's."""

    message = "Cannot attach context: unknown encoding"


class FileChangedError(CannotAttachError):
    """Report that the file was written while it was read."""

    message = "Cannot attach context: file changed while it was read"


@define(slots=False, eq=False)
class ResolverFailedError(CollaboratorError):
    """Report that a registered resolver raised something of its own, which is the error's cause."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"the resolver of {self.name!r} failed: {self.problem}; legal: content, or a CannotAttachError"


@define(slots=False, eq=False)
class PillPositionError(CallerError, IndexError):
    """Refuse a position outside of the text, or inside of a pill where nothing can be inserted."""

    position: int
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"position {self.position!r} {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class PillFormatError(CallerError, ValueError):
    """Refuse data that is no pill or document; `path` names the place, such as ``$.pills[2].type``."""

    path: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; legal: {self.legal}"
