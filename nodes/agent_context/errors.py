"""What an AgentContext refuses: where it stands, what is wrong, what would be legal."""

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
