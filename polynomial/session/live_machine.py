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
from typing import Any

from statemachine.engines.async_ import AsyncEngine

from polycontext.base import InvalidOptionError
from polycontext.base.effects import Effect, Steps, call, procedure, twin
from polycontext.pressure import Edit, Fulfilment
from polycontext.window import Turn

from ..inputs import KIND_OF_ROLE, ContextInput, ContextOutput, InputKind, Standing, kind_of
from ..machine.context_machine import ContextMachine, ContextModel
from ..machine.step import Step
from ..state import State
from .commands import Take, WriteOptions
from .options import is_in_loop
from .part import Session

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


def send_event(
    session: Any, event: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Steps[ContextOutput]:
    """Write the command of an event; see `ContextSession.send`.

    Raises:
        InvalidOptionError: `event` is not an event, or is an input without a method: send rewinds
            and erasures by name.
    """
    if isinstance(event, ContextInput):
        return _send_input(session, event, kwargs)
    if not isinstance(event, str):
        raise InvalidOptionError("event", event, "the name of an event, or a ContextInput")
    kind = kind_of(event)
    if kind is InputKind.RESIZE or not isinstance(kind, InputKind):
        when = {name: kwargs[name] for name in WriteOptions.__annotations__ if name in kwargs}
        own = {name: value for name, value in kwargs.items() if name not in when}
        return _take(session, ContextInput.named(kind, *args, **own), when)
    if args and isinstance(args[0], Turn):
        ContextInput(kind, args[0])  # refuses a turn of another role
        return _send(session, session, "add", *args, **kwargs)
    if kind is InputKind.TOOL_TURN and args[1:]:
        return _send(session, session, "add_tool_turn", args[0], tool_call_id=args[1], **kwargs)
    subject = session.history if kind in (InputKind.REWIND, InputKind.FORGET) else session
    name = f"add_{kind}" if kind in KIND_OF_ROLE.values() else str(kind)
    return _send(session, subject, name, *args, **kwargs)


def _send_input(
    session: Any, given: ContextInput, kwargs: Mapping[str, Any]
) -> Steps[ContextOutput]:
    match given.payload:
        case Turn() | str():
            return _send(session, session, "add", given.turn, given.resource_class, **kwargs)
        case Fulfilment() as fulfilment:
            return _send(session, session.background, "commit", fulfilment, **kwargs)
        case Edit(splices=splices):
            ids = [turn.resource_id for splice in splices for turn in splice.turns]
            return _send(session, session, "recall", ids, **kwargs)
        case Standing():
            legal = f'"{given.kind}" by name, with what session.history.{given.kind} takes'
            raise InvalidOptionError("event", given.kind, legal)
        case float() | int() as target if given.kind is InputKind.COMPRESS:
            return _send(session, session, "compress", target, **kwargs)
        case _:  # clear, resize, promote, or an event that a subclass of the machine adds
            return _take(session, given, kwargs)


def _send(
    session: Any, subject: object, verb: str, *args: Any, **kwargs: Any
) -> Steps[ContextOutput]:
    output = yield call(subject, verb, *args, **kwargs)
    return output if isinstance(output, ContextOutput) else session.output


def _take(session: Session, given: ContextInput, when: Mapping[str, Any]) -> Steps[ContextOutput]:
    return session._write(Take(given), **when)
