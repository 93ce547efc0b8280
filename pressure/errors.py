"""Errors that compression raises."""

from attrs import define

from polycontext.base import CallerError


@define(slots=False, eq=False)
class ConflictError(CallerError, RuntimeError):
    """A change was made for a state that is no longer current."""

    what: str
    expected: object
    found: object

    def __str__(self) -> str:
        return (
            f"{self.what}: made for {self.expected}, found {self.found}. Make it again from the "
            f"current one."
        )
