"""The machine: states, events, guards and actions, declared once.

    EMPTY -> ACCUMULATING -> PRESSURED -> COMPRESSED -> ...

Everything else is derived from this declaration: the table of the pure engine,
`VALID_DIRECTIONS`, the diagram. Guards are one-line calls into pressure, actions
one-line calls into window and projector; what they need comes with the step.
This module is the only one that knows python-statemachine.
"""

from typing import Any

from attrs import define
from statemachine import State, StateChart
from statemachine.callbacks import CallbackGroup, CallbackSpec
from statemachine.exceptions import TransitionNotAllowed
from statemachine.transition import Transition
from statemachine.transition_list import TransitionList

from polycontext.polynomial.errors import illegal
from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.machine.step import DEFAULT_POLICY, ContextPolicy, Step, check_fits, is_over_budget
from polycontext.polynomial.machine.table import Row, Table, directions
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.pressure import pressure_of
from polycontext.window import ContextWindow


@define
class ContextModel:
    """Hold what the machine moves: the window, and the state that the library writes."""

    window: ContextWindow
    state: ContextState | None = None


def _turn(source: State, pressured: State, settled: State) -> TransitionList:
    """Declare what a turn does in `source`: too much of it presses; a compressed context cools down first."""
    moves: TransitionList = source.to(pressured, validators="fits", cond="is_pressured", on="append_turn")
    if source.value is ContextState.COMPRESSED:
        moves |= source.to(source, validators="fits", cond="is_cooling", on="append_turn")
    moves |= source.to(settled, validators="fits", on="append_turn")
    return moves


class ContextMachine(StateChart[ContextModel]):
    """Drive one conversation's context (design §7, seed 004 §3.2).

    A refused input raises and changes nothing: illegal ones `IllegalDirectionError` (in
    PRESSURED `ContextPressureError`), a turn out of order `OrderError`, a turn that can never
    fit `ContextOverflowError`.

    >>> machine = ContextMachine(ContextWindow(1000))
    >>> machine.advance(ContextInput.user_turn("hello")).state
    <ContextState.ACCUMULATING: 'ACCUMULATING'>
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
    compress = accumulating.to(compressed, on="compress_window") | pressured.to(compressed, on="compress_window")
    clear = accumulating.to(empty, on="clear_window") | pressured.to(empty, on="clear_window") | compressed.to(empty, on="clear_window")

    def __init__(
        self, window: ContextWindow, policy: ContextPolicy = DEFAULT_POLICY, state: ContextState = ContextState.EMPTY, **options: Any
    ) -> None:
        self.policy = policy
        super().__init__(ContextModel(window), start_value=state, **options)

    @staticmethod
    def fits(step: Step) -> None:
        """Refuse a turn out of order, or one that could never fit."""
        check_fits(step.appended, step.policy.projector)

    @staticmethod
    def is_pressured(step: Step) -> bool:
        """Tell whether the turn would take the window above the high mark, wherever it stands: a view over its budget always is."""
        return pressure_of(step.appended) > step.policy.threshold.high(step.policy.signals) or is_over_budget(step.appended)

    @staticmethod
    def is_cooling(step: Step) -> bool:
        """Tell whether the last compression is fewer turns away than the cooldown."""
        return (step.appended.turns_since_compression or 0) < step.policy.cooldown

    @staticmethod
    def append_turn(step: Step) -> None:
        """Make the window with the turn."""
        step.result = step.appended

    @staticmethod
    def compress_window(step: Step) -> None:
        """Make the compressed window."""
        step.result = step.compressed()

    @staticmethod
    def clear_window(step: Step) -> None:
        """Make the empty window."""
        step.result = step.window.cleared()

    @property
    def context_state(self) -> ContextState:
        """Return the position the machine is in."""
        assert self.model.state is not None
        return self.model.state

    @property
    def window(self) -> ContextWindow:
        """Return the window; it changes by inputs only."""
        return self.model.window

    def restore(self, state: ContextState, window: ContextWindow) -> None:
        """Put the machine where it was: `state` with `window`."""
        self.model.window = window
        if state is not self.model.state:
            self.current_state_value = state

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Take one input through the machine; return what goes out, or raise and change nothing."""
        step, before = Step(context_input, self.model.window, self.policy), self.context_state
        try:
            self.send(context_input.kind.value, step=step)
        except TransitionNotAllowed:
            raise illegal(self.context_state, context_input.kind, directions(TABLE)[self.context_state]) from None
        except BaseException:
            # A listener may fail after the library has written the state.
            self.restore(before, self.model.window)
            raise
        output = step.output(self.context_state)
        self.model.window = output.window
        return output


def compile_table(machine: type[ContextMachine]) -> Table:
    """Read states, events, guards and actions off the declaration."""
    return {
        ContextState(state.value): {
            kind: tuple(_row(machine, transition) for transition in state.transitions if transition.event == kind.value)
            for kind in InputKind
            if any(transition.event == kind.value for transition in state.transitions)
        }
        for state in machine.states
    }


def _row(machine: type[ContextMachine], transition: Transition) -> Row:
    def named(group: CallbackGroup) -> tuple[Any, ...]:
        return tuple(getattr(machine, spec.func) for spec in _declared(transition) if spec.group is group)

    target = transition.target
    assert target is not None
    return Row(ContextState(target.value), named(CallbackGroup.VALIDATOR), named(CallbackGroup.COND), named(CallbackGroup.ON))


def _declared(transition: Transition) -> list[CallbackSpec]:
    """Return the callbacks that the declaration names, without those the library looks for by convention."""
    specs = transition._specs  # noqa: SLF001 - the library shows its callbacks nowhere else
    return [spec for spec in specs if isinstance(spec.func, str) and not spec.is_convention]


TABLE: Table = compile_table(ContextMachine)
