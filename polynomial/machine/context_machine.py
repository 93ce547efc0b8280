"""The machine: states, events, guards and actions, declared once.

    EMPTY -> ACCUMULATING -> PRESSURED -> COMPRESSED -> ...

Everything else is derived from this declaration: the table of the pure engine, `VALID_DIRECTIONS`, the diagram.
Every name in it is a method of `Step`, which calls pressure, linearity, window and projector. This module is the
only one that knows python-statemachine.
"""

import logging
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any

from attrs import define
from statemachine import State, StateChart
from statemachine.callbacks import CallbackGroup, CallbackSpec
from statemachine.engines.async_ import AsyncEngine
from statemachine.event_data import TriggerData
from statemachine.exceptions import TransitionNotAllowed
from statemachine.transition import Transition
from statemachine.transition_list import TransitionList

from polycontext.linearity import InvalidOptionError, PolycontextError, UnknownNameError
from polycontext.polynomial.errors import SessionWriteError, illegal
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.machine.step import ContextPolicy, Step, default_policy
from polycontext.polynomial.machine.table import Row, Table, directions
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.pressure import ConflictError
from polycontext.window import ContextWindow

# The library tells every step at debug level, some eleven lines a turn; whoever wants them sets its logger's level.
logging.getLogger("statemachine").setLevel(logging.INFO)


@define
class ContextModel:
    """Hold what the machine moves: the window, and the state that the library writes."""

    window: ContextWindow
    state: ContextState | None = None


def _turn(source: State, pressured: State, settled: State) -> TransitionList:
    """Declare what a turn does in `source`: too much of it presses; a compressed context cools down first."""
    checks = ["in_order", "fits"]
    moves: TransitionList = source.to(pressured, validators=checks, cond="is_pressured", on="append_turn")
    if source.value is ContextState.COMPRESSED:
        moves |= source.to(source, validators=checks, cond="is_cooling", on="append_turn")
    moves |= source.to(settled, validators=checks, on="append_turn")
    return moves


class ContextMachine(StateChart[ContextModel]):
    """Drive one conversation's context, with the listeners, diagrams and events of python-statemachine (docs/machine.md).

    Events take what their input takes: ``machine.user_turn("hello")``, ``machine.send("compress", 0.5)``, or a turn. A target
    stands in its place, without its name: the library keeps the keyword ``target`` for itself and would drop it. With listeners that are
    coroutine functions each event is awaited before the next.

    A refused input raises and changes nothing: illegal ones `IllegalDirectionError` (in PRESSURED `ContextPressureError`),
    a turn out of order `OrderError`, a turn that can never fit `ContextOverflowError`, a compression below a floor `FloorError`.

    >>> machine = ContextMachine(ContextWindow(1000))
    >>> machine.user_turn("hello")
    >>> machine.context_state, len(machine.window)
    (<ContextState.ACCUMULATING: 'ACCUMULATING'>, 1)
    """

    # The library's defaults swallow illegal events and exceptions; ours must raise.
    allow_event_without_transition = False
    enable_self_transition_entries = False
    atomic_configuration_update = True
    catch_errors_as_events = False

    empty = State("EMPTY", value=ContextState.EMPTY, initial=True)
    accumulating = State("ACCUMULATING", value=ContextState.ACCUMULATING)
    pressured = State("PRESSURED", value=ContextState.PRESSURED)
    compressed = State("COMPRESSED", value=ContextState.COMPRESSED)

    user_turn = (
        _turn(empty, pressured, accumulating) | _turn(accumulating, pressured, accumulating) | _turn(compressed, pressured, accumulating)
    )
    system = (
        _turn(empty, pressured, accumulating) | _turn(accumulating, pressured, accumulating) | _turn(compressed, pressured, accumulating)
    )
    assistant_turn = _turn(accumulating, pressured, accumulating) | _turn(compressed, pressured, accumulating)
    tool_turn = _turn(accumulating, pressured, accumulating) | _turn(compressed, pressured, accumulating)
    compress = compressed.from_(accumulating, pressured, compressed, validators=["is_current", "keeps_floors"], on="compress_window")
    clear = empty.from_(accumulating, pressured, compressed, on="clear_window")
    recall = accumulating.to(accumulating, validators="fits", on="recall_atoms") | compressed.to(
        compressed, validators="fits", on="recall_atoms"
    )
    promote = (
        accumulating.to(accumulating, on="raise_class")
        | pressured.to(pressured, on="raise_class")
        | compressed.to(compressed, on="raise_class")
    )

    def __init__(
        self, window: ContextWindow, policy: ContextPolicy | None = None, state: ContextState = ContextState.EMPTY, **options: Any
    ) -> None:
        self.policy = policy or default_policy()
        super().__init__(ContextModel(window), start_value=state, **options)

    # --- what the declaration names -------------------------------------------

    def in_order(self, step: Step) -> None:
        """Refuse a turn that may not come now."""
        step.in_order()

    def fits(self, step: Step) -> None:
        """Refuse a turn that could never fit, or a recall that would press."""
        step.fits()

    def is_current(self, step: Step) -> None:
        """Refuse a fulfilment that was planned on another window."""
        step.is_current()

    def keeps_floors(self, step: Step) -> None:
        """Refuse a compression that takes an atom below the floor of its class."""
        step.keeps_floors()

    def is_pressured(self, step: Step) -> bool:
        """Tell whether the turn takes the window above the high mark."""
        return step.is_pressured()

    def is_cooling(self, step: Step) -> bool:
        """Tell whether the last compression is fewer turns away than the cooldown."""
        return step.is_cooling()

    def append_turn(self, step: Step) -> None:
        """Put the window with the turn into the model."""
        self._put(step, step.append_turn())

    def compress_window(self, step: Step) -> None:
        """Put the compressed window into the model."""
        self._put(step, step.compress_window())

    def clear_window(self, step: Step) -> None:
        """Put the empty window into the model."""
        self._put(step, step.clear_window())

    def recall_atoms(self, step: Step) -> None:
        """Put the window with the recalled turns into the model."""
        self._put(step, step.recall_atoms())

    def raise_class(self, step: Step) -> None:
        """Put the window with the raised class into the model."""
        self._put(step, step.raise_class())

    def _put(self, step: Step, window: ContextWindow) -> None:
        # An event that a listener sends from inside of another was made for a window that is gone by now.
        if step.window is not self.model.window:
            raise ConflictError(f"input {step.input.kind}", step.window, self.model.window)
        self.model.window = window

    # --- driving ------------------------------------------------------------------

    @property
    def context_state(self) -> ContextState:
        """Return the position the machine is in."""
        assert self.model.state is not None
        return self.model.state

    @property
    def window(self) -> ContextWindow:
        """Return the window; it changes by inputs only."""
        return self.model.window

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Take one input through the machine; return what goes out, or raise and change nothing."""
        step = Step(context_input, self.model.window, self.policy)
        return self.take(step)

    def take(self, step: Step) -> ContextOutput:
        """Take a step through the machine; one that was decided elsewhere has its answers with it."""
        self.send(step.input.kind.value, step=step)
        return step.output(self.context_state)

    def restore(self, state: ContextState, window: ContextWindow) -> None:
        """Put the machine where a journal says it is: `state` with `window`."""
        self.model.window = window
        if state is not self.model.state:
            self.current_state_value = state

    def _put_nonblocking(self, trigger_data: TriggerData, internal: bool = False) -> None:  # noqa: FBT001, FBT002 - the library's signature
        """Make the step of an event: the one place that both ``machine.send`` and ``machine.user_turn`` pass."""
        if trigger_data.event in KINDS and "step" not in trigger_data.kwargs:
            made = getattr(ContextInput, str(trigger_data.event))(*trigger_data.args, **trigger_data.kwargs)
            trigger_data.args, trigger_data.kwargs = (), {"step": Step(made, self.model.window, self.policy)}
        super()._put_nonblocking(trigger_data, internal=internal)

    def _processing_loop(self, caller_future: Any | None = None) -> Any:
        """Process what is queued; an event with what listeners send from inside of it is taken whole or not at all."""
        with self._all_or_nothing():
            processing = super()._processing_loop(caller_future)
        # Listeners that are coroutine functions make the library hand out something to await.
        return self._awaited(processing) if isawaitable(processing) else None

    async def _awaited(self, processing: Awaitable[Any]) -> None:
        with self._all_or_nothing():
            await processing

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        """Speak of a refusal in the machine's own words, and undo what did not work out."""
        state, window = self.model.state, self.model.window
        try:
            yield
        except BaseException as failure:
            in_words = self._in_words(failure) if isinstance(failure, TransitionNotAllowed) else None
            # A listener may fail after the library has written the state.
            if state is not None:
                self.restore(state, window)
            if in_words is None:
                raise
            raise in_words from None

    def _in_words(self, refused: TransitionNotAllowed) -> PolycontextError | None:
        """Return a refusal of this machine in our words; a listener may have a machine of its own, whose words are its own."""
        if getattr(refused.event, "_sm", None) is not self:
            return None
        if refused.event not in KINDS:
            return UnknownNameError("input", str(refused.event), tuple(sorted(KINDS)))
        return illegal(self.context_state, InputKind(str(refused.event)), directions(TABLE)[self.context_state])


KINDS = frozenset(kind.value for kind in InputKind)


class FollowingMachine(ContextMachine):
    """Show what a session does: a live machine that takes the steps which the session has stored, and nothing else.

    `parted` tells whether it refused one of them.

    Raises:
        InvalidOptionError: a listener is asynchronous; a session's steps are shown between two awaits.
    """

    parted = False

    def __init__(
        self, window: ContextWindow, policy: ContextPolicy | None = None, state: ContextState = ContextState.EMPTY, **options: Any
    ) -> None:
        super().__init__(window, policy, state, **options)
        if isinstance(self._engine, AsyncEngine):
            raise InvalidOptionError("listeners", options.get("listeners"), "listeners whose methods are plain functions, not coroutines")

    def take(self, step: Step) -> ContextOutput:
        """Take a step that the session has stored; its window may have been given other room since it was this machine's."""
        if step.window.has_contents_of(self.model.window):
            self.model.window = step.window
        return super().take(step)

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Refuse to take what no session has stored."""
        raise _only_follows()

    def _in_words(self, refused: TransitionNotAllowed) -> PolycontextError | None:
        in_words = super()._in_words(refused)
        self.parted = self.parted or in_words is not None
        return in_words

    def _put_nonblocking(self, trigger_data: TriggerData, internal: bool = False) -> None:  # noqa: FBT001, FBT002 - the library's signature
        if trigger_data.event in KINDS and "step" not in trigger_data.kwargs:
            raise _only_follows()
        super()._put_nonblocking(trigger_data, internal=internal)


def _only_follows() -> SessionWriteError:
    return SessionWriteError("this machine follows a session", "the session's own methods, or a ContextMachine of your own")


def compile_table(machine: type[ContextMachine]) -> Table:
    """Read states, events, guards and actions off the declaration; equal validators are one object."""
    shared: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    return {
        ContextState(state.value): {
            kind: tuple(_row(transition, shared) for transition in state.transitions if transition.event == kind.value)
            for kind in InputKind
            if any(transition.event == kind.value for transition in state.transitions)
        }
        for state in machine.states
    }


def _row(transition: Transition, shared: dict[tuple[Any, ...], tuple[Any, ...]]) -> Row:
    def named(group: CallbackGroup) -> tuple[Any, ...]:
        return tuple(getattr(Step, spec.func) for spec in _declared(transition) if spec.group is group)

    target = transition.target
    assert target is not None
    validators = named(CallbackGroup.VALIDATOR)
    return Row(ContextState(target.value), shared.setdefault(validators, validators), named(CallbackGroup.COND), named(CallbackGroup.ON))


def _declared(transition: Transition) -> list[CallbackSpec]:
    """Return the callbacks that the declaration names, without those the library looks for by convention."""
    specs = transition._specs  # noqa: SLF001 - the library shows its callbacks nowhere else
    return [spec for spec in specs if isinstance(spec.func, str) and not spec.is_convention]


TABLE: Table = compile_table(ContextMachine)
