"""What the machine and the session refuse."""

from attrs import define

from polycontext.linearity import CallerError, CollaboratorError
from polycontext.polynomial.state import ContextState, InputKind


@define(slots=False, eq=False)
class IllegalDirectionError(CallerError, RuntimeError):
    """Refuse an input that is no direction of the state: of the machine, or of the position of any agent."""

    state: object
    kind: object
    legal: tuple[object, ...]

    def __str__(self) -> str:
        return f"input {self.kind} is illegal in state {self.state}; legal: {self._listed()}"

    def _listed(self) -> str:
        return ", ".join(map(str, self.legal)) or "none"


@define(slots=False, eq=False)
class ContextPressureError(IllegalDirectionError):
    """Refuse a turn while the context is pressured (seed 004 §3.2)."""

    def __str__(self) -> str:
        return f"context pressured, input {self.kind} must wait; legal: {self._listed()}"


@define(slots=False, eq=False)
class ContextOverflowError(CallerError, ValueError):
    """Refuse what could not fit even if everything yielded that may.

    `tokens` is the least the request could take, `max_tokens` what is there.
    """

    tokens: int
    max_tokens: int
    what: str = "the turn"

    def __str__(self) -> str:
        return (
            f"{self.what} needs at least {self.tokens} tokens even after compressing everything that may yield; "
            f"legal: at most {self.max_tokens}"
        )


@define(slots=False, eq=False)
class SessionWriteError(CallerError, RuntimeError):
    """Refuse a write that would part a session from its journal: from inside another write of it, or past it."""

    problem: str
    legal: str

    def __str__(self) -> str:
        return f"write refused: {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class EngineError(CollaboratorError, RuntimeError):
    """Say that the live machine did not do what the table decided: a subclass or listener has changed it."""

    kind: InputKind
    expected: ContextState
    found: ContextState

    def __str__(self) -> str:
        return (
            f"the live machine stands at {self.found} after {self.kind}, the table at {self.expected}; the session goes by the table; "
            "legal: a machine whose guards and actions are those of the declaration"
        )


def illegal(state: ContextState, kind: InputKind, legal: frozenset[InputKind]) -> IllegalDirectionError:
    """Return the error that fits the state: in PRESSURED a `ContextPressureError`."""
    error = ContextPressureError if state is ContextState.PRESSURED else IllegalDirectionError
    return error(state, kind, tuple(sorted(legal)))
