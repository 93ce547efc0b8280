"""The transition function, derived from the machine's declaration at import."""

from polycontext.polynomial.inputs import ContextInput, ContextOutput
from polycontext.polynomial.state import ContextState, Kind, State
from polycontext.window import ContextWindow

from .context_machine import ContextMachine
from .step import ContextPolicy, Step, default_policy
from .table import run

VALID_DIRECTIONS: dict[State, frozenset[Kind]] = ContextMachine.table.directions
"""The legal inputs of every state (docs/machine.md)."""


def context_transition(
    state: State, context_input: ContextInput, window: ContextWindow, policy: ContextPolicy | None = None
) -> tuple[State, ContextOutput]:
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


class TableMachine:
    """Drive one conversation by the table: what `ContextMachine` does, without its dispatch."""

    __slots__ = ("_state", "_window", "policy")

    def __init__(self, window: ContextWindow, policy: ContextPolicy | None = None, state: State = ContextState.EMPTY) -> None:
        self._window = window
        self._state = state
        self.policy = policy or default_policy()

    @property
    def context_state(self) -> State:
        """Return the position the machine is in."""
        return self._state

    @property
    def window(self) -> ContextWindow:
        """Return the window; it changes by inputs only."""
        return self._window

    def restore(self, state: State, window: ContextWindow) -> None:
        """Put the machine where it was: `state` with `window`."""
        self._state, self._window = state, window

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Take one input; return what goes out, or raise and change nothing."""
        self._state, output = context_transition(self._state, context_input, self._window, self.policy)
        self._window = output.window
        return output
