"""The laws of the machine and the polynomial beside the table that both of them follow."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from polycontext.base import PolycontextError
from polycontext.base.law import agree, law
from polycontext.polynomial import (
    ContextInput,
    ContextOutput,
    ContextPolicy,
    ContextState,
    IllegalDirectionError,
    PolyAgent,
    Position,
)
from polycontext.polynomial.laws.machines import MachineClass, new_window_like
from polycontext.polynomial.machine.context_machine import context_transition
from polycontext.polynomial.machine.step import default_policy
from polycontext.polynomial.state import State
from polycontext.window import ContextWindow

_MACHINE = "docs/machine.md"

Inputs = Sequence[ContextInput]


class TableMachine:
    """A machine driven by the table alone, without the dispatch of `ContextMachine`."""

    __slots__ = ("_state", "_window", "policy")

    def __init__(
        self,
        window: ContextWindow,
        policy: ContextPolicy | None = None,
        state: State = ContextState.EMPTY,
    ) -> None:
        self._window = window
        self._state = state
        self.policy = policy or default_policy()

    @property
    def context_state(self) -> State:
        """Return the current state."""
        return self._state

    @property
    def window(self) -> ContextWindow:
        """Return the window; only inputs change it."""
        return self._window

    def restore(self, state: State, window: ContextWindow) -> None:
        """Set the state and the window."""
        self._state, self._window = state, window

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Process one input and return the output, or raise and change nothing."""
        self._state, output = context_transition(
            self._state, context_input, self._window, self.policy
        )
        self._window = output.window
        return output


@law(_MACHINE)
def engines_agree(
    machine: MachineClass,
    other_machine: MachineClass,
    window: ContextWindow,
    policy: ContextPolicy,
    inputs: Inputs,
) -> None:
    """Two engines that get the same inputs, legal or not, have equal outputs, states and errors."""
    one, other = (engine(new_window_like(window), policy) for engine in (machine, other_machine))
    for context_input in inputs:
        agree(
            *(
                (_outcome(each.advance, context_input), each.context_state, each.window)
                for each in (one, other)
            ),
            context_input=context_input,
        )


@law(_MACHINE)
def the_polynomial_moves_as_the_table(
    polynomial: PolyAgent[Position, ContextInput, ContextOutput],
    window: ContextWindow,
    inputs: Inputs,
) -> None:
    """The polynomial moves as the table does; the table refuses as illegal what is no direction."""
    one = TableMachine(new_window_like(window))
    for context_input in inputs:
        here = Position(one.context_state, one.window)
        moved = _outcome(partial(_output_of, polynomial, here), context_input)
        expected = _outcome(one.advance, context_input)
        agree(_without_words(moved), _without_words(expected), context_input=context_input)


def _outcome(
    advance: Callable[[ContextInput], ContextOutput], context_input: ContextInput
) -> object:
    """Return the output without objects that engines never share, or the error's type and text."""
    try:
        output = advance(context_input)
    except PolycontextError as error:
        return type(error), str(error)
    did = output.compression
    return (
        output.state,
        output.window,
        did and (did.edit, did.kept, did.gisted, did.dropped, did.tokens_after, did.reached),
    )


def _output_of(
    polynomial: PolyAgent[Position, ContextInput, ContextOutput],
    position: Position,
    context_input: ContextInput,
) -> ContextOutput:
    return polynomial.invoke(position, context_input)[1]


def _without_words(taken: Any) -> object:
    """Replace an illegal direction by a constant, since the error messages differ."""
    refused = isinstance(taken[0], type) and issubclass(taken[0], IllegalDirectionError)
    return "no direction" if refused else taken
