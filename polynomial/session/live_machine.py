"""The live machine of a session: it owns no state, is always where the session is, and plays what was stored for its listeners."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from inspect import isawaitable
from threading import Lock
from typing import Any

from statemachine.engines.async_ import AsyncEngine

from polycontext.polynomial.errors import SessionWriteError
from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.polynomial.machine.context_machine import ContextMachine, ContextModel
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.state import State

_LOG = logging.getLogger("polycontext.session")

Send = Callable[..., ContextOutput]
AsyncSend = Callable[..., Awaitable[ContextOutput]]


class LiveMachine:
    """Play stored steps on a machine of python-statemachine, one after the other; a listener that fails is logged and changes nothing."""

    def __init__(self, where: Callable[[], Conversation], is_inside: Callable[[], bool], send: Send, asend: AsyncSend) -> None:
        self.where, self.is_inside, self.send, self.asend = where, is_inside, send, asend
        self.shown: ContextModel | None = None
        """Where the step stands that is being played."""
        self.waiting: deque[tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = deque()
        """What listeners have sent from inside a step: it is sent once the write is done."""
        self._steps: deque[tuple[Step, State]] = deque()
        self._playing = Lock()

    def start(self, listeners: list[object], **options: Any) -> ContextMachine:
        """Make the machine."""
        self.machine = self.where().machine(model=_SessionModel(self), listeners=listeners, **options)
        return self.machine

    @property
    def is_async(self) -> bool:
        """Return whether a listener is a coroutine function."""
        return isinstance(self.machine._engine, AsyncEngine)  # noqa: SLF001 - the library says it nowhere else

    def may_block(self) -> bool:
        """Return whether listeners can be called here without awaiting them."""
        return not (self.is_async and _is_in_loop())

    def check_blocking(self) -> None:
        """Refuse to write without awaiting where a listener has to be awaited.

        Raises:
            SessionWriteError: a listener is a coroutine function, and an event loop is running.
        """
        if not self.may_block():
            raise SessionWriteError(
                "a listener of the machine is a coroutine function", "awaiting the twin of this method (its name with an a)"
            )

    def add(self, made: object, state: State) -> None:
        """Play a step that has led on from `state`, when its turn comes; a patch of a document is none."""
        if isinstance(made, Step):
            self._steps.append((made, state))

    def play(self) -> None:
        """Play what is to be played."""
        for _ in self._played():
            pass

    async def aplay(self) -> None:
        """Play what is to be played, and await listeners."""
        for doing in self._played():
            if isawaitable(doing):
                try:
                    await doing
                except Exception as error:  # noqa: BLE001 - as in `_played`
                    _log(error)

    def _played(self) -> Generator[Any]:
        """Play step by step; where others are at it, they play these, too."""
        while self._steps and self._playing.acquire(blocking=False):
            try:
                step, state = self._steps.popleft()
                self.shown = ContextModel(step.window, state)
                yield self.machine.send(step.input.kind, *step.args, step=step, **step.kwargs)
            except Exception as error:  # noqa: BLE001 - what a listener raises is its own affair
                _log(error)
            finally:
                self.shown = None
                self._playing.release()

    def send_waiting(self) -> None:
        """Send what listeners have sent meanwhile; what is refused is logged."""
        while self.waiting:
            name, args, kwargs = self.waiting.popleft()
            try:
                self.send(name, *args, **kwargs)
            except Exception:  # noqa: BLE001 - the write that it was sent from stands
                _LOG.exception("event %s, sent by a listener of the machine, was refused", name)

    async def asend_waiting(self) -> None:
        """Send what listeners have sent meanwhile without blocking."""
        while self.waiting:
            name, args, kwargs = self.waiting.popleft()
            try:
                await self.asend(name, *args, **kwargs)
            except Exception:  # noqa: BLE001 - the write that it was sent from stands
                _LOG.exception("event %s, sent by a listener of the machine, was refused", name)


class _SessionModel:
    """Be the model of a live machine: state and window are the session's, or those of the step that is played."""

    def __init__(self, live: LiveMachine) -> None:
        self._live = live

    @property
    def state(self) -> Any:
        return (self._live.shown or self._live.where()).state

    @state.setter
    def state(self, state: Any) -> None:
        if self._live.shown is not None:
            self._live.shown.state = state

    @property
    def window(self) -> Any:
        return (self._live.shown or self._live.where()).window

    @window.setter
    def window(self, window: Any) -> None:
        if self._live.shown is not None:
            self._live.shown.window = window

    def written(self, name: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Write an event through the session, or keep it until the write is done that it is sent from."""
        live = self._live
        if live.is_inside():
            live.waiting.append((name, args, kwargs))
            return ContextOutput(self.window, self.state)
        return live.asend(name, *args, **kwargs) if live.is_async and _is_in_loop() else live.send(name, *args, **kwargs)


_MAKING = Lock()


def machine_of(session: Any, listeners: Sequence[object] = ()) -> ContextMachine:
    """Return the live machine of a session, made when it is first looked at."""
    writer = session._writer  # noqa: SLF001 - a part of it, loaded when it is wanted
    with _MAKING:
        if writer.live is None:
            live = LiveMachine(lambda: writer.conversation, writer.is_inside, session.send, session.asend)
            live.start([*listeners], policy=writer.policy)
            writer.live = live
        machine: ContextMachine = writer.live.machine
        return machine


def _log(error: Exception) -> None:
    _LOG.error("a listener of the machine failed; the input stays accepted", exc_info=error)


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
