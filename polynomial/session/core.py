"""What every part of a session stands on: the machine, the journal, the log, the lock, and undoing what did not work out."""

import asyncio
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import RLock
from typing import Any, Literal, Protocol, get_args
from weakref import WeakKeyDictionary

from attrs import frozen

from polycontext.linearity import UNIX_EPOCH, Classifier, default_classifier
from polycontext.polynomial.errors import ContextOverflowError, SessionOptionError, illegal
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.journal import events as journal
from polycontext.polynomial.machine.context_machine import ContextMachine
from polycontext.polynomial.machine.step import ContextPolicy, is_over_budget
from polycontext.polynomial.machine.transition import VALID_DIRECTIONS, TableMachine
from polycontext.polynomial.session.delivery import Delivery
from polycontext.polynomial.session.recall import Log
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.pressure import (
    AdaptiveThreshold,
    CompressionResult,
    ConflictError,
    ContextProjector,
    Fulfilment,
    Plan,
    Threshold,
    pressure_of,
)
from polycontext.window import ContextWindow, TokenCounter, ToolCall, Turn, count_tools, default_counter

Engine = Literal["machine", "table"]
Clock = Callable[[], datetime]
Calls = Iterable[ToolCall | Mapping[str, Any]]


class _Machine(Protocol):
    """Stand for either engine."""

    policy: ContextPolicy

    @property
    def context_state(self) -> ContextState: ...
    @property
    def window(self) -> ContextWindow: ...
    def advance(self, context_input: ContextInput) -> ContextOutput: ...
    def restore(self, state: ContextState, window: ContextWindow) -> None: ...


@frozen
class Mark:
    """Remember where a session stood."""

    state: ContextState
    window: ContextWindow
    events: int
    turns: int


def utc_now() -> datetime:
    """Return the time; the one place where a session reads a clock of its own."""
    return datetime.now(UTC)


class SessionCore:
    """Hold one conversation's machine, journal and log, and change all three or none."""

    def __init__(
        self,
        max_tokens: int = 8000,
        *,
        auto: bool = True,
        engine: Engine = "machine",
        reserve: int = 0,
        tools: Sequence[Mapping[str, Any]] = (),
        projector: ContextProjector | None = None,
        threshold: Threshold | None = None,
        cooldown: int = 2,
        counter: TokenCounter | None = None,
        classifier: Classifier = default_classifier,
        preserved_share: float = 0.2,
        clock: Clock = utc_now,
    ) -> None:
        _check_options(engine, cooldown)
        counter = counter or default_counter()
        taken = reserve + (count_tools(counter, tools) if tools else 0)
        if taken and not 0 <= taken < max_tokens:
            raise ContextOverflowError(taken, max_tokens, "what the request needs besides (reserve and tool definitions)")
        window = ContextWindow(max_tokens - taken, counter=counter, classifier=classifier, preserved_share=preserved_share)
        policy = ContextPolicy(projector or ContextProjector(), threshold or AdaptiveThreshold(), cooldown)
        self.auto = auto
        self.engine: Engine = engine
        self._taken = taken
        self._clock = clock
        self._machine = _machine(engine, window, policy)
        self._events: list[journal.Event] = []
        self._log = Log.empty()
        self._delivery = Delivery()
        self._lock = RLock()
        self._task_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @property
    def state(self) -> ContextState:
        """Return the machine's state."""
        return self._machine.context_state

    @property
    def window(self) -> ContextWindow:
        """Return the window, focused on the last turn; immutable."""
        return self._machine.window

    @property
    def pressure(self) -> float:
        """Return tokens used / max tokens of the window."""
        return pressure_of(self._machine.window)

    @property
    def policy(self) -> ContextPolicy:
        """Return what guards and actions call."""
        return self._machine.policy

    @property
    def revision(self) -> int:
        """Return how many events the journal holds."""
        return len(self._events)

    @property
    def output(self) -> ContextOutput:
        """Return what readers consume: window and state now."""
        with self._lock:
            return ContextOutput(self.window, self.state)

    def events(self) -> tuple[journal.Event, ...]:
        """Return the journal: every accepted input with its effects, in order."""
        return tuple(self._events)

    def log(self) -> tuple[Turn, ...]:
        """Return every turn ever accepted, in order, whatever became of it in the view."""
        return tuple(self._log.turns)

    def _one_task(self) -> asyncio.Lock:
        """Return the lock of the running event loop's tasks; a lock belongs to one loop, a session to nobody."""
        with self._lock:
            return self._task_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    def _stamped(self, turn: Turn) -> Turn:
        """Return `turn` with a time of its own or now, to be counted here whatever the caller says."""
        if turn.timestamp is not UNIX_EPOCH and turn.tokens is None:
            return turn
        return turn.stamped(self._clock() if turn.timestamp is UNIX_EPOCH else turn.timestamp)

    def _put(self, context_input: ContextInput) -> ContextOutput:
        """Take a turn in; with `auto` and PRESSURED compress first, as gently as lets it fit."""
        if not (self.auto and self.state is ContextState.PRESSURED):
            return self._append(context_input)
        self.window.check_order(context_input.turn)
        fulfil = self.policy.projector.fulfil
        try:
            return self._put_after(fulfil(self._plan()), context_input)[1]
        except ContextOverflowError:
            return self._put_after(fulfil(self._plan(0.0)), context_input)[1]

    def _put_after(self, fulfilment: Fulfilment, context_input: ContextInput) -> tuple[Mark, ContextOutput]:
        with self._lock, self._all_or_nothing() as mark:
            self._compress(fulfilment)
            return mark, self._append(context_input)

    def _append(self, context_input: ContextInput) -> ContextOutput:
        output = self._machine.advance(context_input)
        turn = output.window.extract()
        assert turn is not None
        self._log.append(turn)
        self._events.append(journal.TurnEvent(output.state, turn, output.window.class_of(turn)))
        return output

    def _must_yield(self) -> bool:
        """Tell whether a turn alone took the window over its budget: then `messages` could not be handed out."""
        return is_over_budget(self.window) and InputKind.COMPRESS in VALID_DIRECTIONS[self.state]

    @contextmanager
    def _all_or_nothing(self) -> Generator[Mark]:
        """Put everything back if what is done inside raises."""
        mark = self._mark()
        try:
            yield mark
        except BaseException:
            self._back_to(mark)
            raise

    def _mark(self) -> Mark:
        return Mark(self.state, self.window, len(self._events), len(self._log.turns))

    def _back_to(self, mark: Mark) -> None:
        self._machine.restore(mark.state, mark.window)
        del self._events[mark.events :]
        self._log.truncate(mark.turns)

    def _plan(self, target: float | None = None) -> Plan:
        """Plan down to `target`; without one, as automatic compression does."""
        projector, threshold = self.policy.projector, self.policy.threshold
        if target is not None:
            return projector.plan_for(self.window, target)
        return projector.plan_between(self.window, threshold.low, threshold.high(self.policy.signals))

    def _compress(self, fulfilment: Fulfilment) -> ContextOutput:
        with self._all_or_nothing():
            output = self._machine.advance(ContextInput(InputKind.COMPRESS, fulfilment))
            result = output.compression
            assert isinstance(result, CompressionResult)
            self._events.append(journal.CompressEvent(output.state, result.edit, self._clock()))
            return output

    def _settle(self, event: journal.Event, after: ContextWindow) -> ContextOutput:
        self._machine.restore(self.state, after)
        self._events.append(event)
        return self.output

    def _check_direction(self, kind: InputKind) -> None:
        if kind not in VALID_DIRECTIONS[self.state]:
            raise illegal(self.state, kind, VALID_DIRECTIONS[self.state])

    def _check_revision(self, expected: int | None) -> None:
        if expected is not None and expected != self.revision:
            raise ConflictError("session revision", expected, self.revision)


def _machine(engine: Engine, window: ContextWindow, policy: ContextPolicy, state: ContextState = ContextState.EMPTY) -> _Machine:
    return ContextMachine(window, policy, state) if engine == "machine" else TableMachine(window, policy, state)


def _check_options(engine: str, cooldown: int) -> None:
    if engine not in get_args(Engine):
        raise SessionOptionError("engine", engine, ", ".join(get_args(Engine)))
    if isinstance(cooldown, bool) or not isinstance(cooldown, int) or cooldown < 0:
        raise SessionOptionError("cooldown", cooldown, "a whole number of turns, at least 0")
