"""The law of the machine beside the table that it follows."""

from collections.abc import Callable, Sequence

from polycontext.base import PolycontextError
from polycontext.base.law import agree, law
from polycontext.polynomial import (
    ContextInput,
    ContextOutput,
    ContextPolicy,
    ContextState,
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
