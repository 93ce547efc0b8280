"""The machine: states, events, guards and actions, declared once.

    EMPTY -> ACCUMULATING -> PRESSURED -> COMPRESSED -> ...

Everything else is derived from this declaration: the table of the pure engine, `VALID_DIRECTIONS`,
the diagram. This room is the only one that knows python-statemachine.
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

# The library logs every step at debug level, some eleven lines a turn.
logging.getLogger("statemachine").setLevel(logging.INFO)


@define
class ContextModel:
    """Hold what the machine moves: the window, and the state that the library writes."""

    window: ContextWindow
    state: Any = None


def _turn(pressured: State, accumulating: State, *sources: State) -> TransitionList:
    """Declare what a turn does: too much of it presses; a compressed context cools down first."""
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
    """Declare what changes the view or its budget otherwise: the state is what the guards say of it."""
    moves = TransitionList()
    for source in sources:
        moves |= source.to(empty, cond="is_empty", **TAKES)
        moves |= source.to(pressured, cond="is_pressured", **TAKES)
        moves |= source.to(compressed, cond="is_cooling", **TAKES)
        moves |= source.to(accumulating, **TAKES)
    return moves


class ContextMachine(StateChart[Any], metaclass=OwnStates):
    """Drive one conversation's context, with the listeners, diagrams and events of python-statemachine (docs/machine.md).

    Events take what their input takes: ``machine.user_turn("hello")``, ``machine.send("compress",
    0.5)``, or a turn. Pass a target
    by position: the library reserves the keyword ``target`` and drops it. With listeners that are
    coroutine functions each event is awaited before the next. The machine of a session
    (`ContextSession.machine`) is where its session is, and an event sent to it is decided and
    stored by the session.

    Subclass it to add states, events, guards and validators, and pass the class to a session as
    `machine`. Guards and validators are methods that take the `Step`; `table` is what the class
    declares.

    A refused input raises and changes nothing: illegal ones `IllegalDirectionError` (in PRESSURED
    `ContextPressureError`), a turn out of order `OrderError`, a turn that can never fit
    `ContextOverflowError`, a compression below a floor `FloorError`.

    >>> machine = ContextMachine(ContextWindow(1000))
    >>> machine.user_turn("hello")
    >>> machine.context_state, len(machine.window)
    (<ContextState.ACCUMULATING: 'ACCUMULATING'>, 1)
    """

    table: ClassVar[Table]

    # The library's defaults swallow illegal events and exceptions; ours must raise.
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

    # --- what the declaration names -------------------------------------------

    def in_order(self, step: Step) -> None:
        """Refuse an input that may not come now or cannot fit; override it to refuse more."""
        step.check()

    def is_empty(self, step: Step) -> bool:
        """Return whether nothing stands in the view."""
        return step.is_empty()

    def is_pressured(self, step: Step) -> bool:
        """Return whether the window is over its high mark."""
        return step.is_pressured()

    def is_cooling(self, step: Step) -> bool:
        """Return whether the last compression is fewer turns away than the cooldown."""
        return step.is_cooling()

    def put_window(self, step: Step) -> None:
        """Put the window that the step leads to into the model."""
        # An event that a listener sends from inside another was made for a window that is gone by
        # now.
        if step.window is not self.model.window:
            raise ConflictError(f"input {step.input.kind}", step.window, self.model.window)
        self.model.window = step.after

    # --- driving ------------------------------------------------------------------

    @property
    def context_state(self) -> Any:
        """Return the state the machine is in."""
        return self.model.state

    @property
    def window(self) -> ContextWindow:
        """Return the window; it changes by inputs only."""
        window: ContextWindow = self.model.window
        return window

    @property
    def allowed_events(self) -> list[Any]:
        """Return the events that are legal in this state."""
        return [getattr(self, kind) for kind in self.table.legal(self.context_state)]

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Take one input through the machine; return what goes out, or raise and change nothing."""
        write = getattr(self.model, "write_event", None)
        if write is not None:
            output: ContextOutput = write(context_input, (), {})
            return output
        step = self._decide(context_input)
        self.send(context_input.kind, step=step)
        return step.output(self.context_state)

    def restore(self, state: Any, window: ContextWindow) -> None:
        """Put the machine where a journal says it is: `state` with `window`."""
        self.model.window = window
        if state is not self.model.state:
            self.current_state_value = state

    def _decide(self, context_input: ContextInput) -> Step:
        step = Step(context_input, self.window, self.policy)
        run(self.table, self.context_state, step)
        return step

    def _put_nonblocking(self, trigger_data: TriggerData, internal: bool = False) -> None:  # noqa: FBT001, FBT002 - the library's signature
        """Decide an event before the library takes it: the one place that both ``machine.send`` and ``machine.user_turn`` pass."""
        if not isinstance(trigger_data.kwargs.get("step"), Step) and self.context_state is not None:
            name, args, kwargs = str(trigger_data.event), trigger_data.args, trigger_data.kwargs
            if delay := getattr(trigger_data.event, "delay", 0):
                raise InvalidOptionError(
                    "delay", delay, "None: send the event when it is to happen"
                )
            write = getattr(self.model, "write_event", None)
            if write is not None:  # a session decides and stores it, and plays it then
                trigger_data.future = write(name, args, kwargs)
                return
            trigger_data.args, trigger_data.kwargs = (
                (),
                {"step": self._decide(ContextInput.named(name, *args, **kwargs)), **kwargs},
            )
        super()._put_nonblocking(trigger_data, internal=internal)

    def _processing_loop(self, caller_future: Any | None = None) -> Any:
        """Process what is queued.

        An event with what listeners send from inside of it is taken whole or not at all.
        """
        if isinstance(caller_future, ContextOutput) or asyncio.iscoroutine(caller_future):
            return caller_future
        with self._all_or_nothing():
            processing = super()._processing_loop(caller_future)
        # Listeners that are coroutine functions make the library hand out something to await.
        return self._await(processing) if isawaitable(processing) else None

    async def _await(self, processing: Awaitable[Any]) -> None:
        with self._all_or_nothing():
            await processing

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        """Undo what did not work out.

        An event that became illegal behind another is refused in our words.
        """
        state, window = self.model.state, self.model.window
        try:
            yield
        except BaseException as failure:
            refused = self.context_state
            # A listener may fail after the library has written the state.
            if state is not None:
                self.restore(state, window)
            # A listener may have a machine of its own, whose words are its own.
            if (
                isinstance(failure, TransitionNotAllowed)
                and getattr(failure.event, "_sm", None) is self
            ):
                raise illegal(
                    refused, kind_of(str(failure.event)), self.table.legal(refused)
                ) from None
            raise


# --- without a machine that is driven -------------------------------------------------

VALID_DIRECTIONS: dict[StateValue, frozenset[Kind]] = ContextMachine.table.directions
"""The legal inputs of every state (docs/machine.md)."""


def context_transition(
    state: StateValue,
    context_input: ContextInput,
    window: ContextWindow,
    policy: ContextPolicy | None = None,
) -> tuple[StateValue, ContextOutput]:
    """Return the next state and the output for an input that meets `window` in `state`; pure.

    Raises:
        IllegalDirectionError: no direction of `state` (ContextPressureError in PRESSURED).
        OrderError: the turn comes at the wrong moment of a tool call.
        ContextOverflowError: the turn could never fit.

    >>> state, output = context_transition(ContextState.EMPTY, ContextInput.user_turn("hello"), ContextWindow(1000))
    >>> state, len(output.window)
    (<ContextState.ACCUMULATING: 'ACCUMULATING'>, 1)
    """
    step = Step(context_input, window, policy or default_policy())
    target = run(ContextMachine.table, state, step)
    return target, step.output(target)
