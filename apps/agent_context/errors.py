"""Exceptions of an AgentContext that callers may want to catch separately.

All others are the shared errors of `linearity`.
"""

from collections.abc import Callable
from enum import Enum
from typing import ParamSpec, TypeVar

from attrs import define

from polycontext.base import CallerError, CollaboratorError, InvalidDataError

P = ParamSpec("P")
T = TypeVar("T")


def at_path(step: str, make: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of `make`, with `step` before the path of any `InvalidDataError`.

    The code that refuses a value does not know its path: every caller adds its own step.
    """
    try:
        return make(*args, **kwargs)
    except InvalidDataError as error:
        dot = "." if error.path and not error.path.startswith("[") else ""
        error.path = f"{step}{dot}{error.path}"
        raise


def wrong_type(value: object, expected: str, legal: str, path: str = "") -> InvalidDataError:
    """Return the error for a value of a wrong type."""
    return InvalidDataError(path, f"{type(value).__name__} is not {expected}", legal)


@define(slots=False, eq=False)
class ContextViolationError(CallerError, PermissionError):
    """An agent may not write a key.

    `allowed` are its rights. `reason` is set if more than a missing right forbids the write.
    """

    agent_id: str
    namespace: str
    key: str
    allowed: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        legal = ", ".join(self.allowed) or "nothing: it is not registered, or has no rights"
        return (
            f"agent {self.agent_id!r} may not write {self.namespace}.{self.key}{why}. "
            f"It may write {legal}."
        )


@define(slots=False, eq=False)
class ContextSizeError(CallerError, ValueError):
    """A context is too large.

    `limit` names the limit, `current` is the size, `maximum` the most that is legal, both in
    `unit`, and `where` is the path.
    """

    limit: str
    current: int
    maximum: int
    unit: str
    where: str = "$"

    def __str__(self) -> str:
        current, legal = (f"{number:,} {self.unit}" for number in (self.current, self.maximum))
        return f"size limit exceeded: {self.limit} at {self.where}: {current}. Use at most {legal}."


class ContextSizeWarning(UserWarning):
    """A context is close to its size limit."""


@define(slots=False, eq=False)
class UnknownVersionError(CallerError, ValueError):
    """No migration leads from the version of a document.

    `newer` means that a later release wrote it.
    """

    version: str
    target: str
    known: tuple[str, ...]
    newer: bool = False

    def __str__(self) -> str:
        what = (
            "is newer than this release reads"
            if self.newer
            else f"cannot be migrated to {self.target}"
        )
        return f"schema version {self.version!r} {what}. Use {', '.join(self.known)}."


@define(slots=False, eq=False)
class MigrationError(CollaboratorError, ValueError):
    """A migration failed on a document."""

    source: str
    target: str
    problem: str

    def __str__(self) -> str:
        what = f"the migration from {self.source} to {self.target} failed"
        return f"{what}: {self.problem}. Register a function from JSON object to JSON object."


class ArtifactFault(Enum):
    """The fault of stored content; the value is what would be legal."""

    MISSING = "the place where the content was externalised"
    DAMAGED = "the bytes that were stored"
    UNREACHABLE = "a store that can be reached, read and written"


@define(slots=False, eq=False)
class ArtifactError(CollaboratorError, OSError):
    """Content cannot be stored or retrieved.

    `reason` and `problem` say why, `place` is the store, and `sha256` the content, if it is about
    one.
    """

    reason: ArtifactFault
    place: str
    problem: str
    sha256: str = ""

    def __str__(self) -> str:
        content = f"content {self.sha256}: " if self.sha256 else ""
        return f"{self.place}: {content}{self.problem}. Use {self.reason.value}."
