"""The live machine of a session: it has no state of its own, and plays stored steps.

Playing a step calls the listeners.
"""

import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from statemachine.engines.async_ import AsyncEngine

from polycontext.base import InvalidOptionError
from polycontext.base.effects import Effect, Steps, call, procedure, twin
from polycontext.pressure import Edit, Fulfilment
from polycontext.window import Turn

from ..inputs import KIND_OF_ROLE, ContextInput, ContextOutput, InputKind, Standing, kind_of
from ..machine.context_machine import ContextMachine, ContextModel
from ..machine.step import Step
from ..state import State
from .commands import Take
from .options import is_in_loop
from .verbs import WHEN

if TYPE_CHECKING:
    from .context_session import ContextSession


_LOG = logging.getLogger("polycontext.session")
_FAILED = "a listener of the machine failed; the input stays accepted"
_REFUSED = "event %s, sent by a listener of the machine, was refused"


class LiveMachine:
    """Plays stored steps on a python-statemachine machine, one after the other.

    It is also the model of that machine: state and window are those of the session, or of the step
    that is being played. An exception in a listener is logged and changes nothing.
    """

    def __init__(self, session: Any, listeners: Sequence[object]) -> None:
        self._session, self._writer = session, session._writer
        self._played: ContextModel | None = None
        self._steps: deque[tuple[Step, State]] = deque()
        self._sent: deque[tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = deque()
        self._playing = Lock()
        self.machine: ContextMachine = self._writer.conversation.machine(
            model=self, listeners=[*listeners], policy=self._writer.policy
        )

    # --- the model --------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """Return the state of the session, or of the step that is being played."""
        return (self._played or self._writer.conversation).state

    @state.setter
    def state(self, state: Any) -> None:
        if self._played is not None:
            self._played.state = state

    @property
    def window(self) -> Any:
        """Return the window of the session, or of the step that is being played."""
        return (self._played or self._writer.conversation).window

    @window.setter
    def window(self, window: Any) -> None:
        if self._played is not None:
            self._played.window = window

    def write_event(self, event: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Write an event through the session, or queue it if it is sent from inside a write."""
        if self._writer.is_inside():
            self._sent.append((event, args, kwargs))
            return ContextOutput(self.window, self.state)
        return (self._session.send if self.may_block() else self._session.asend)(
            event, *args, **kwargs
        )

    # --- called by the session ----------------------------------------------------------

    def may_block(self) -> bool:
        """Return whether listeners can be called without awaiting them.

        True if none is a coroutine function, or if no event loop is running in this thread.
        """
        return (
            not isinstance(self.machine._engine, AsyncEngine) or not is_in_loop()
        )  # the library exposes it nowhere else

    def add(self, made: object, state: State) -> None:
        """Queue a step that started in `state`; a patch of a document is not a step."""
        if isinstance(made, Step):
            self._steps.append((made, state))

    @procedure
    def play(self) -> Steps[None]:
        """Play the queued steps, and await listeners that are coroutine functions.

        If another thread is already playing, it plays these steps, too.
        """
        while self._begins():
            with self._next() as play:
                yield Effect(play, partial(_awaited, play))

    aplay = twin(play)

    @procedure
    def send_waiting(self) -> Steps[None]:
        """Send the events that listeners have queued; an event that is refused is logged."""
        while self._sent:
            event, args, kwargs = self._sent.popleft()
            with _logged(_REFUSED, event):
                yield call(self._session, "send", event, *args, **kwargs)

    asend_waiting = twin(send_waiting)

    def _begins(self) -> bool:
        """Return whether a step is queued that no one else plays, and reserve it."""
        while self._steps and self._playing.acquire(blocking=False):
            if self._steps:
                return True
            self._playing.release()
        return False

    @contextmanager
    def _next(self) -> Generator[Callable[[], Any]]:
        """Yield a function that plays the next step, with the machine at the start of that step."""
        try:
            with _logged(_FAILED):
                step, state = self._steps.popleft()
                self._played = ContextModel(step.window, state)
                yield lambda: self.machine.send(
                    step.input.kind, *step.args, step=step, **step.kwargs
                )
        finally:
            self._played = None
            self._playing.release()


def machine_of(session: Any, listeners: Sequence[object] = ()) -> ContextMachine:
    """Return the live machine of a session, created on first access."""
    writer = session._writer
    if writer.is_past:
        conversation = writer.conversation  # events change only this machine
        past: ContextMachine = conversation.machine(
            conversation.window, session.policy, conversation.state
        )
        return past
    with writer._publishing:
        writer.live = writer.live or LiveMachine(session, listeners)
        machine: ContextMachine = writer.live.machine
        return machine


@contextmanager
def _logged(what: str, *details: object) -> Generator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001 - a listener's error must not fail the write
        _LOG.exception(what, *details)


async def _awaited(play: Callable[[], Any]) -> None:
    played = play()
    if isawaitable(played):
        await played


# --- events by name --------------------------------------------------------------------


class _Call(NamedTuple):
    """A method of the session, or of its `part`, with its arguments."""

    verb: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    part: str | None = None


def send_event(
    session: "ContextSession", event: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Steps[ContextOutput]:
    """Write the command of an event; see `ContextSession.send`."""
    found = _call_of(event, args, kwargs)
    subject = session if found.part is None else getattr(session, found.part)
    output = yield call(subject, found.verb, *found.args, **found.kwargs)
    return output if isinstance(output, ContextOutput) else session.output


def _call_of(event: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Call:
    """Return the method that an event stands for.

    Raises:
        InvalidOptionError: `event` is not an event, or is an input without a method: send rewinds
            and erasures by name.
    """
    if isinstance(event, ContextInput):
        found = _of_input(event)
        return found._replace(kwargs={**found.kwargs, **kwargs})
    if not isinstance(event, str):
        raise InvalidOptionError("event", event, "the name of an event, or a ContextInput")
    kind = kind_of(event)
    if kind is InputKind.RESIZE or not isinstance(kind, InputKind):
        own = {**kwargs}
        when = {name: own.pop(name) for name in WHEN if name in own}
        return _Call("_write", (Take(ContextInput.named(kind, *args, **own)),), when)
    if args and isinstance(args[0], Turn):
        ContextInput(kind, args[0])  # refuses a turn of another role
        return _Call("add", args, kwargs)
    if kind is InputKind.TOOL_TURN and args[1:]:
        return _Call("add_tool_turn", args[:1], {"tool_call_id": args[1], **kwargs})
    part = "history" if kind in (InputKind.REWIND, InputKind.FORGET) else None
    return _Call(f"add_{kind}" if kind in KIND_OF_ROLE.values() else str(kind), args, kwargs, part)


def _of_input(given: ContextInput) -> _Call:
    match given.payload:
        case Turn() | str():
            return _Call("add", (given.turn, given.resource_class))
        case Fulfilment() as fulfilment:
            return _Call("commit", (fulfilment,), part="background")
        case Edit(splices=splices):
            return _Call(
                "recall", ([turn.resource_id for splice in splices for turn in splice.turns],)
            )
        case Standing():
            raise InvalidOptionError(
                "event",
                given.kind,
                f'"{given.kind}" by name, with what session.history.{given.kind} takes',
            )
        case float() | int() as target if given.kind is InputKind.COMPRESS:
            return _Call("compress", (target,))
        case _:  # clear, resize, promote, or an event that a subclass of the machine adds
            return _Call("_write", (Take(given),))
