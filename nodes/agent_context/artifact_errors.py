"""What a store of artifacts reports: content that is missing, that is not what was stored, or that cannot be reached."""

from attrs import define

from polycontext.linearity import CollaboratorError


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
