"""The errors that the machine, sessions and stores raise."""

from collections.abc import Collection, Mapping

from attrs import Factory, define
from statemachine.exceptions import TransitionNotAllowed

from polycontext.base import CallerError, CollaboratorError, UnknownNameError, advised

from .inputs import InputKind, Kind
from .state import ContextState, State

_ORDER: dict[Kind, int] = {kind: place for place, kind in enumerate(InputKind)}
_OPENED = " To begin with the assistant, use from_messages or extend."


@define(slots=False, eq=False)
class IllegalDirectionError(CallerError, TransitionNotAllowed, RuntimeError):
    """An input was sent that the current state does not allow.

    Agents raise it too, for an input that is not a direction of their position. It is a
    `TransitionNotAllowed` of python-statemachine, whose `event` and `configuration` are `kind` and
    `state`.
    """

    state: object
    kind: object
    legal: tuple[object, ...]
    hint: str = ""

    @property
    def event(self) -> object:  # type: ignore[override]
        """Return `kind`."""
        return self.kind

    @property
    def configuration(self) -> tuple[object, ...]:  # type: ignore[override]
        """Return `state`."""
        return (self.state,)

    def __str__(self) -> str:
        if self.kind in self.legal:
            return (
                f"input {self.kind} was refused in state {self.state}: none of its guards is true. "
                f"Check the guards, or send {self._listed()}."
            )
        return (
            f"input {self.kind} is not allowed in state {self.state}. Send {self._listed()}."
            f"{self.hint}"
        )

    def _listed(self) -> str:
        return ", ".join(str(kind) for kind in self.legal if kind != self.kind) or "nothing"


@define(slots=False, eq=False)
class ContextPressureError(IllegalDirectionError):
    """An event was sent that PRESSURED does not allow (docs/machine.md)."""

    def __str__(self) -> str:
        return (
            f"input {self.kind} must wait: the context is pressured, which means above the "
            f"threshold for compression. Send {self._listed()} first."
        )


@define(slots=False, eq=False)
class ContextOverflowError(CallerError, ValueError):
    """The content does not fit into the budget, even after compression.

    With `advice`, the content as it is does not fit, and `advice` says how to make it fit.

    `tokens` is a number of tokens that would suffice, `max_tokens` the budget. `taken` says what
    uses the remaining tokens after everything compressible has been compressed.
    """

    tokens: int
    max_tokens: int
    what: str = "the turn"
    taken: Mapping[str, int] = Factory(dict)
    advice: str = ""

    @property
    def problem(self) -> str:
        """Return what is wrong, without what to do."""
        if self.advice:
            return (
                f"{self.what} takes {self.tokens:,} tokens, but the budget is {self.max_tokens:,}"
            )
        told = ", ".join(
            f"{what}: {tokens:,}"
            for what, tokens in sorted(self.taken.items(), key=lambda row: -row[1])
        )
        return (
            f"{self.what} needs at least {self.tokens:,} tokens even after compression, "
            f"but the budget is {self.max_tokens:,}" + (f" ({told})" if told else "")
        )

    def __str__(self) -> str:
        rules = "End rules (see session.rules), s" if self.taken.get("rules") else "S"
        return f"{self.problem}. {self.advice or f'{rules}horten it or raise max_tokens.'}"


@define(slots=False, eq=False)
class SessionWriteError(CallerError, RuntimeError):
    """The session cannot be written at this moment.

    For example, a callback of the session writes to it, the session shows a past state, or an
    answer is being streamed in.
    """

    problem: str
    legal: str

    def __str__(self) -> str:
        return advised(f"write refused: {self.problem}", self.legal)


@define(slots=False, eq=False)
class UnknownPathError(UnknownNameError):
    """There is nothing at the given path (docs/paths.md).

    `near` lists similar paths, `legal` the paths at the place that was searched.
    """


@define(slots=False, eq=False)
class StoreError(CollaboratorError, OSError):
    """A store failed: a full disk, a read-only, damaged, incompatible or closed store.

    `store` names the store without secrets. Nothing was stored, unless `problem` says that this is
    unknown.
    """

    store: str
    problem: str
    legal: str

    def __str__(self) -> str:
        return advised(f"{self.store}: {self.problem}", self.legal)


@define(slots=False, eq=False)
class StoreBusyError(StoreError, TimeoutError):
    """Other processes or writers kept the store for too long, or another machine has it open."""


def illegal(state: State, kind: Kind, legal: Collection[Kind]) -> IllegalDirectionError:
    """Return the error for `kind` in `state`: a `ContextPressureError` while PRESSURED."""
    error = ContextPressureError if state is ContextState.PRESSURED else IllegalDirectionError
    greets = state is ContextState.EMPTY and kind is InputKind.ASSISTANT_TURN
    kinds = sorted(legal, key=lambda each: (_ORDER.get(each, len(_ORDER)), each))
    return error(state, kind, tuple(kinds), _OPENED if greets else "")
