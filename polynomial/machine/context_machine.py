"""The state machine: states, events, guards and actions, declared once.

    EMPTY -> ACCUMULATING -> PRESSURED -> COMPRESSED -> ...

Everything else is derived from this declaration: the table of the pure engine, `VALID_DIRECTIONS`
and the diagram.
"""

import asyncio
import logging
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any, ClassVar

from attrs import define
from statemachine import State, StateChart
from statemachine.event_data import TriggerData
from statemachine.exceptions import TransitionNotAllowed
from statemachine.transition_list import TransitionList

from polycontext.linearity import InvalidOptionError
from polycontext.pressure import ConflictError
from polycontext.window import ContextWindow

from ..errors import illegal
from ..inputs import ContextInput, ContextOutput, Kind, kind_of
from ..state import ContextState
from ..state import State as StateValue
from .step import ContextPolicy, Step, default_policy
from .table import TAKES, OwnStates, Table, run

# python-statemachine logs every step at debug level, about eleven lines a turn.
logging.getLogger("statemachine").setLevel(logging.INFO)


@define
class ContextModel:
    """The model that the machine changes: the window, and the state that the library writes."""

    window: ContextWindow
    state: Any = None


def _turn(pressured: State, accumulating: State, *sources: State) -> TransitionList:
    """Declare the transitions of a turn.

    It leads to PRESSURED over the high mark, stays COMPRESSED while cooling, and otherwise leads to
    ACCUMULATING.
    """
    moves = TransitionList()
    for source in sources:
        moves |= source.to(pressured, cond="is_pressured", **TAKES)
        if source.value is ContextState.COMPRESSED:
            moves |= source.to(source, cond="is_cooling", **TAKES)
        moves |= source.to(accumulating, **TAKES)
    return moves


def _settle(
    empty: State, pressured: State, compressed: State, accumulating: State, *sources: State
) -> TransitionList:
    """Declare the transitions of an event that changes the view or budget but adds no turn.

    The guards choose the next state.
    """
    moves = TransitionList()
    for source in sources:
        moves |= source.to(empty, cond="is_empty", **TAKES)
        moves |= source.to(pressured, cond="is_pressured", **TAKES)
        moves |= source.to(compressed, cond="is_cooling", **TAKES)
        moves |= source.to(accumulating, **TAKES)
    return moves


class ContextMachine(StateChart[Any], metaclass=OwnStates):
    """The state machine of one conversation's context, driven by events of python-statemachine.

    Events take the arguments of their input: ``machine.user_turn("hello")``,
    ``machine.send("compress", 0.5)``, or a `Turn`. Pass a target by position: python-statemachine
    reserves the keyword ``target`` and drops it. If a listener is a coroutine function, await each
    event before you send the next.

    The machine of a session (`ContextSession.machine`) follows its session, and the session decides
    and stores the events that it is sent.

    Subclass it to add states, events, guards and validators, and pass the class to a session as
    `machine`. Guards and validators are methods that take the `Step`. `table` is compiled from the
    class. See docs/machine.md.

    A refused input raises and changes nothing:

    - `IllegalDirectionError` for an illegal input (`ContextPressureError` in PRESSURED),
    - `OrderError` for a turn out of order,
    - `ContextOverflowError` for a turn that can never fit,
    - `FloorError` for a compression below a floor.

    >>> machine = ContextMachine(ContextWindow(1000))
    >>> machine.user_turn("hello")
    >>> machine.context_state, len(machine.window)
    (<ContextState.ACCUMULATING: 'ACCUMULATING'>, 1)
    """

    table: ClassVar[Table]

    # The library's defaults swallow illegal events and exceptions; this machine must raise.
    allow_event_without_transition = False
    enable_self_transition_entries = False
    atomic_configuration_update = True
    catch_errors_as_events = False

    empty = State("EMPTY", value=ContextState.EMPTY, initial=True)
    accumulating = State("ACCUMULATING", value=ContextState.ACCUMULATING)
    pressured = State("PRESSURED", value=ContextState.PRESSURED)
    compressed = State("COMPRESSED", value=ContextState.COMPRESSED)

    user_turn = _turn(pressured, accumulating, empty, accumulating, compressed)
    system = _turn(pressured, accumulating, empty, accumulating, compressed)
    assistant_turn = _turn(pressured, accumulating, accumulating, compressed)
    tool_turn = _turn(pressured, accumulating, accumulating, compressed)
    compress = compressed.from_(accumulating, pressured, compressed, **TAKES)
    clear = empty.from_(accumulating, pressured, compressed, **TAKES)
    recall = _settle(empty, pressured, compressed, accumulating, accumulating, compressed)
    promote = _settle(
        empty, pressured, compressed, accumulating, accumulating, pressured, compressed
    )
    resize = _settle(
        empty, pressured, compressed, accumulating, empty, accumulating, pressured, compressed
    )
    rewind = _settle(
        empty, pressured, compressed, accumulating, empty, accumulating, pressured, compressed
    )
    forget = _settle(
        empty, pressured, compressed, accumulating, empty, accumulating, pressured, compressed
    )

    def __init__(
        self,
        window: ContextWindow | None = None,
        policy: ContextPolicy | None = None,
        state: Any = ContextState.EMPTY,
        *,
        model: Any = None,
        **options: Any,
    ) -> None:
        self.policy = policy or default_policy()
        type(self).forget_new()
        super().__init__(
            model or ContextModel(window),  # type: ignore[arg-type]
            start_value=None if model else state,
            **options,
        )

    # --- validators, guards and actions ----------------------------------------

    def in_order(self, step: Step) -> None:
        """Raise if the input is not allowed now or cannot fit; override it to refuse more."""
        step.check()

    def is_empty(self, step: Step) -> bool:
        """Return whether the view is empty."""
        return step.is_empty()

    def is_pressured(self, step: Step) -> bool:
        """Return whether the window is over its high mark."""
        return step.is_pressured()

    def is_cooling(self, step: Step) -> bool:
        """Return whether fewer turns than the cooldown followed the last compression."""
        return step.is_cooling()

    def put_window(self, step: Step) -> None:
        """Put the resulting window of the step into the model."""
        # A listener that sends an event from inside another event decided it on an outdated window.
        if step.window is not self.model.window:
            raise ConflictError(f"input {step.input.kind}", step.window, self.model.window)
        self.model.window = step.after

    # --- driving ------------------------------------------------------------------

    @property
    def context_state(self) -> Any:
        """Return the machine's current state."""
        return self.model.state

    @property
    def window(self) -> ContextWindow:
        """Return the window; only inputs change it."""
        window: ContextWindow = self.model.window
        return window

    @property
    def allowed_events(self) -> list[Any]:
        """Return the events that are legal in this state."""
        return [getattr(self, kind) for kind in self.table.legal(self.context_state)]

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Process one input and return the output, or raise and change nothing."""
        write = getattr(self.model, "write_event", None)
        if write is not None:
            output: ContextOutput = write(context_input, (), {})
            return output
        step = self._decide(context_input)
        self.send(context_input.kind, step=step)
        return step.output(self.context_state)

    def restore(self, state: Any, window: ContextWindow) -> None:
        """Set the machine to the `state` and `window` of a journal."""
        self.model.window = window
        if state is not self.model.state:
            self.current_state_value = state

    def _decide(self, context_input: ContextInput) -> Step:
        step = Step(context_input, self.window, self.policy)
        run(self.table, self.context_state, step)
        return step

    def _put_nonblocking(
        self,
        trigger_data: TriggerData,
        internal: bool = False,  # noqa: FBT001, FBT002 - the library's signature
    ) -> None:
        """Decide an event before the library queues it.

        Both ``machine.send`` and ``machine.user_turn`` pass through here.
        """
        if not isinstance(trigger_data.kwargs.get("step"), Step) and self.context_state is not None:
            name, args, kwargs = str(trigger_data.event), trigger_data.args, trigger_data.kwargs
            if delay := getattr(trigger_data.event, "delay", 0):
                raise InvalidOptionError(
                    "delay", delay, "None: send the event when it is to happen"
                )
            write = getattr(self.model, "write_event", None)
            if write is not None:  # a session decides and stores the event, then plays it
                trigger_data.future = write(name, args, kwargs)
                return
            trigger_data.args, trigger_data.kwargs = (
                (),
                {"step": self._decide(ContextInput.named(name, *args, **kwargs)), **kwargs},
            )
        super()._put_nonblocking(trigger_data, internal=internal)

    def _processing_loop(self, caller_future: Any | None = None) -> Any:
        """Process the queue: an event and what its listeners send succeed or fail together."""
        if isinstance(caller_future, ContextOutput) or asyncio.iscoroutine(caller_future):
            return caller_future
        with self._all_or_nothing():
            processing = super()._processing_loop(caller_future)
        # With coroutine listeners, the library returns an awaitable.
        return self._await(processing) if isawaitable(processing) else None

    async def _await(self, processing: Awaitable[Any]) -> None:
        with self._all_or_nothing():
            await processing

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        """Restore state and window after an error, and translate the library's exception."""
        state, window = self.model.state, self.model.window
        try:
            yield
        except BaseException as failure:
            refused = self.context_state
            # A listener can fail after the library has written the state.
            if state is not None:
                self.restore(state, window)
            # Leave the errors of a listener's own machine untranslated.
            if (
                isinstance(failure, TransitionNotAllowed)
                and getattr(failure.event, "_sm", None) is self
            ):
                raise illegal(
                    refused, kind_of(str(failure.event)), self.table.legal(refused)
                ) from None
            raise


# --- pure functions -------------------------------------------------------------------

VALID_DIRECTIONS: dict[StateValue, frozenset[Kind]] = ContextMachine.table.directions
"""The legal inputs of each state (docs/machine.md)."""


def context_transition(
    state: StateValue,
    context_input: ContextInput,
    window: ContextWindow,
    policy: ContextPolicy | None = None,
) -> tuple[StateValue, ContextOutput]:
    """Return the next state and the output of an input in `state`, as a pure function.

    Raises:
        IllegalDirectionError: the input is illegal in `state` (ContextPressureError in PRESSURED).
        OrderError: the turn breaks the order of tool calls and results.
        ContextOverflowError: the turn can never fit.

    >>> state, output = context_transition(ContextState.EMPTY, ContextInput.user_turn("hello"), ContextWindow(1000))
    >>> state, len(output.window)
    (<ContextState.ACCUMULATING: 'ACCUMULATING'>, 1)
    """
    step = Step(context_input, window, policy or default_policy())
    target = run(ContextMachine.table, state, step)
    return target, step.output(target)
