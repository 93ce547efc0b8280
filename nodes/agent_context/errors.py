"""What an AgentContext refuses: where it stands, what is wrong, what would be legal."""

from typing import Any

from attrs import define

from polycontext.linearity import CallerError, CollaboratorError


def path_under(step: str, path: str) -> str:
    """Return the path with a step before it.

    >>> path_under("reasoning", "intents[3]"), path_under("intents", "[3]")
    ('reasoning.intents[3]', 'intents[3]')
    """
    dot = "." if step and path and not path.startswith("[") else ""
    return f"{step}{dot}{path}"


@define(slots=False, eq=False)
class ContextFormatError(CallerError, ValueError):
    """Refuse a value that the schema does not allow.

    `path` leads to it: from the document's root (``$.reasoning.intents[3].confidence``), or from
    the record that was being made (``confidence``).

    >>> print(ContextFormatError("$.llm.model", "int is not text", "a string"))
    $.llm.model: int is not text; legal: a string
    """

    path: str
    problem: str
    legal: str

    def under(self, step: str) -> "ContextFormatError":
        """Put `step` before the path, while the error is on its way out, and return the same error."""
        self.path = path_under(step, self.path)
        return self

    def __str__(self) -> str:
        return f"{self.path or 'value'}: {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class UnknownKeyError(CallerError, KeyError):
    """Refuse a namespace, or a key of one, that the schema does not have; `legal` are those it has, the nearest first."""

    name: str
    legal: tuple[str, ...]

    def __str__(self) -> str:
        return f"the schema has no {self.name!r}; legal: {', '.join(self.legal)}"


@define(slots=False, eq=False)
class ContextViolationError(CallerError, PermissionError):
    """Refuse a write that the agent has no right to; `allowed` are its rights, `reason` what forbids it to everybody."""

    agent_id: str
    namespace: str
    key: str
    allowed: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        legal = ", ".join(self.allowed) or "nothing, the agent is not registered or has no rights"
        return f"agent {self.agent_id!r} may not write {self.namespace}.{self.key}{why}; legal: {legal}"


@define(slots=False, eq=False)
class ContextSizeError(CallerError, ValueError):
    """Refuse a context that is too large: which limit, how much there is, how much is legal, of what, and where."""

    limit: str
    current: int
    maximum: int
    unit: str
    where: str = "$"

    def __str__(self) -> str:
        return (
            f"size limit exceeded: {self.limit} at {self.where}: {self.current:,} {self.unit}; legal: at most {self.maximum:,} {self.unit}"
        )


class ContextSizeWarning(UserWarning):
    """Warn that a context comes near its size limit."""


@define(slots=False, eq=False)
class UnknownVersionError(CallerError, ValueError):
    """Refuse a document of a version that no migration leads from; `newer` tells that a later release wrote it."""

    version: str
    target: str
    known: tuple[str, ...]
    newer: bool = False

    def __str__(self) -> str:
        what = "is newer than this release reads" if self.newer else f"cannot be migrated to {self.target}"
        return f"schema version {self.version!r} {what}; legal: {', '.join(self.known)}"


@define(slots=False, eq=False)
class DuplicateMigrationError(CallerError, ValueError):
    """Refuse a second migration between the same two versions, or one that leads nowhere."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"a migration from {self.source} to {self.target} adds nothing; legal: one for each pair of different versions"


@define(slots=False, eq=False)
class MigrationError(CollaboratorError, ValueError):
    """Report that a migration itself failed on a document."""

    source: str
    target: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the migration from {self.source} to {self.target} failed: {self.problem}; legal: a function from JSON object to JSON object"
        )


def shown(value: Any) -> str:
    """Return how a message shows a value: shortened."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."  # noqa: PLR2004  a line of a terminal


@define(slots=False, eq=False)
class PatchOriginError(CallerError, ValueError):
    """Refuse to apply or join a patch where it does not start: at `path` it expects one value and found another."""

    path: str
    expected: Any
    found: Any

    def under(self, step: str) -> "PatchOriginError":
        """Put `step` before the path, while the error is on its way out, and return the same error."""
        self.path = path_under(step, self.path)
        return self

    def __str__(self) -> str:
        return f"{self.path}: the patch expects {shown(self.expected)}, found {shown(self.found)}; legal: the context that it was made from"


@define(slots=False, eq=False)
class MergeConflictError(CallerError, ValueError):
    """Refuse to merge two changes of one thing; `base`, `ours` and `theirs` are its values, None where there is none."""

    path: str
    base: Any
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        return (
            f"{self.path}: changed from {shown(self.base)} to {shown(self.ours)} and to {shown(self.theirs)}; "
            "legal: one of the two, written again on the current context"
        )


@define(slots=False, eq=False)
class TrailError(CallerError, ValueError):
    """Refuse a trail whose diffs do not lead to the context that carries them: which one is at fault, and how."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; legal: a context whose audit.diffs lead to it, or one without diffs"


@define(slots=False, eq=False)
class ArtifactMissingError(CollaboratorError, LookupError):
    """Report that there is no content of a SHA-256."""

    sha256: str
    place: str

    def __str__(self) -> str:
        return f"no content {self.sha256} in {self.place}; legal: the place where the content was externalised"


@define(slots=False, eq=False)
class ArtifactDamagedError(CollaboratorError, ValueError):
    """Report content that is not what was stored: `found` is the SHA-256 of what is there now."""

    sha256: str
    found: str
    place: str

    def __str__(self) -> str:
        return f"content {self.sha256} in {self.place} has the SHA-256 {self.found}; legal: the bytes that were stored"


@define(slots=False, eq=False)
class ArtifactStorageError(CollaboratorError, OSError):
    """Report that a store did not answer, or refused."""

    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}; legal: a store that can be reached, read and written"
