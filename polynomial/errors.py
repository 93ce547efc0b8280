"""What the machine and the session refuse."""

from collections.abc import Collection, Mapping

from attrs import Factory, define

from polycontext.linearity import CallerError, CollaboratorError, UnknownNameError

from .inputs import InputKind, Kind
from .state import ContextState, State

_GUARDED = " No guard lets it pass."
_OPENED = " To begin with the assistant, use from_messages or extend."


@define(slots=False, eq=False)
class IllegalDirectionError(CallerError, RuntimeError):
    """Refuse an input that is no direction of the state: of the machine, or of the position of any agent."""

    state: object
    kind: object
    legal: tuple[object, ...]
    hint: str = ""

    def __str__(self) -> str:
        return (
            f"input {self.kind} is illegal in state {self.state}. Send {self._listed()}.{self.hint}"
        )

    def _listed(self) -> str:
        return ", ".join(map(str, self.legal)) or "nothing"


@define(slots=False, eq=False)
class ContextPressureError(IllegalDirectionError):
    """Refuse a turn while the context is pressured (docs/machine.md)."""

    def __str__(self) -> str:
        return f"context pressured, input {self.kind} must wait. Send {self._listed()} first."


@define(slots=False, eq=False)
class ContextOverflowError(CallerError, ValueError):
    """Refuse what could not fit even if everything yielded that may.

    Or, with `advice`, what does not fit as it is.

    `tokens` is a number that would suffice, `max_tokens` what is there. `taken` says what takes the
    room once everything has yielded that may, in tokens. `advice` says how to make it fit.
    """

    tokens: int
    max_tokens: int
    what: str = "the turn"
    taken: Mapping[str, int] = Factory(dict)
    advice: str = ""

    def __str__(self) -> str:
        if self.advice:
            return f"{self.what} takes {self.tokens:,} tokens, but the budget is {self.max_tokens:,}. {self.advice}"
        told = ", ".join(
            f"{what}: {tokens:,}"
            for what, tokens in sorted(self.taken.items(), key=lambda row: -row[1])
        )
        return (
            f"{self.what} needs at least {self.tokens:,} tokens even after compression, but the budget is {self.max_tokens:,}"
            + (f" ({told})" if told else "")
            + ". Shorten it or raise max_tokens."
        )


@define(slots=False, eq=False)
class SessionWriteError(CallerError, RuntimeError):
    """Refuse a write at this moment: from inside another write of the session, past its journal, or while an answer is being written."""

    problem: str
    legal: str

    def __str__(self) -> str:
        return f"write refused: {self.problem}. {self.legal}."


@define(slots=False, eq=False)
class UnknownPathError(UnknownNameError):
    """Refuse a path at which nothing is (docs/paths.md).

    `near` are paths like it, `legal` those where it was looked for.
    """


@define(slots=False, eq=False)
class StoreError(CollaboratorError, OSError):
    """Say that a store cannot do what it is asked: its disk is full, its file read-only, damaged, of another version, or closed.

    `store` tells which, without any secret. What was to be stored is not, unless `problem` says
    that this is not known.
    """

    store: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return f"{self.store}: {self.problem}. {self.legal}."


@define(slots=False, eq=False)
class StoreBusyError(StoreError, TimeoutError):
    """Say that another process holds the file of a store.

    `pid` is its number, None where that is not known.
    """

    pid: int | None = None


def illegal(state: State, kind: Kind, legal: Collection[Kind]) -> IllegalDirectionError:
    """Return the error that fits the state: in PRESSURED a `ContextPressureError`."""
    error = ContextPressureError if state is ContextState.PRESSURED else IllegalDirectionError
    greets = state is ContextState.EMPTY and kind is InputKind.ASSISTANT_TURN
    return error(
        state, kind, tuple(sorted(legal)), _OPENED if greets else _GUARDED if kind in legal else ""
    )
