"""What the machine and the session refuse."""

from typing import Literal

from attrs import define

from polycontext.linearity import CallerError
from polycontext.polynomial.state import ContextState, InputKind


@define(slots=False, eq=False)
class IllegalDirectionError(CallerError, RuntimeError):
    """Refuse an input that is no direction of the state, or a recall where there is nothing to recall into."""

    state: ContextState
    kind: InputKind | Literal["recall"]
    legal: tuple[InputKind, ...]

    def __str__(self) -> str:
        return f"input {self.kind} is illegal in state {self.state}; legal: {', '.join(self.legal)}"


@define(slots=False, eq=False)
class ContextPressureError(IllegalDirectionError):
    """Refuse a turn while the context is pressured (seed 004 §3.2)."""

    def __str__(self) -> str:
        return f"context pressured, input {self.kind} must wait; legal: {', '.join(self.legal)}"


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
class InputError(CallerError, TypeError):
    """Refuse an input whose payload does not fit its kind."""

    kind: InputKind
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"input {self.kind}: {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class SnapshotError(CallerError, ValueError):
    """Refuse saved text that is no session of a known schema."""

    path: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"saved session, {self.path}: {self.problem}; legal: {self.legal}"


@define(slots=False, eq=False)
class SessionOptionError(CallerError, ValueError):
    """Refuse an option of a session."""

    option: str
    value: object
    legal: str

    def __str__(self) -> str:
        return f"{self.option} = {self.value!r}; legal: {self.legal}"


def illegal(state: ContextState, kind: InputKind | Literal["recall"], legal: frozenset[InputKind]) -> IllegalDirectionError:
    """Return the error that fits the state: in PRESSURED a `ContextPressureError`."""
    error = ContextPressureError if state is ContextState.PRESSURED else IllegalDirectionError
    return error(state, kind, tuple(sorted(legal)))
