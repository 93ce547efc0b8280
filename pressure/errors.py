"""What compression refuses."""

from attrs import define

from polycontext.linearity import CallerError


@define(slots=False, eq=False)
class ConflictError(CallerError, RuntimeError):
    """Refuse a change that was made for another state of things."""

    what: str
    expected: object
    found: object

    def __str__(self) -> str:
        return f"{self.what}: made for {self.expected}, found {self.found}; legal: make it anew from the current one"


@define(slots=False, eq=False)
class TargetError(CallerError, ValueError):
    """Refuse a target pressure outside 0..1."""

    target: object

    def __str__(self) -> str:
        return f"target pressure {self.target!r}; legal: a number from 0.0 to 1.0 (tokens / max tokens)"
