"""The context as a polynomial functor: an agent like any other, which runs and composes (docs/machine.md)."""

from attrs import frozen

from polycontext.window import ContextWindow

from ..inputs import ContextInput, ContextOutput, Kind
from ..machine.context_machine import VALID_DIRECTIONS, context_transition
from ..machine.step import ContextPolicy
from ..state import ContextState, State
from .poly_agent import PolyAgent, Those


@frozen
class Position:
    """Hold a position of the context polynomial: a state of the machine with the window that stands there."""

    state: State
    window: ContextWindow

    @classmethod
    def start(cls, max_tokens: int) -> "Position":
        """Return where a conversation in a window of `max_tokens` begins."""
        return cls(ContextState.EMPTY, ContextWindow(max_tokens))


def context_polynomial(policy: ContextPolicy | None = None) -> PolyAgent[Position, ContextInput, ContextOutput]:
    """Return the context polynomial under `policy`: positions carry their window, directions are input kinds.

    A bare `ContextState` counts as a position, too: its directions can be asked for, but only a `Position` can move.
    """

    def transition(position: Position, context_input: ContextInput) -> tuple[Position, ContextOutput]:
        state, output = context_transition(position.state, context_input, position.window, policy)
        return Position(state, output.window), output

    return PolyAgent(
        positions=Those(lambda position: isinstance(position, Position | ContextState)),
        directions=lambda position: VALID_DIRECTIONS[position.state if isinstance(position, Position) else position],
        transition=transition,
        direction=_kind,
    )


def _kind(context_input: ContextInput) -> Kind:
    return context_input.kind


CONTEXT_POLYNOMIAL = context_polynomial()
"""The context polynomial under the default policy.

>>> position, outputs = CONTEXT_POLYNOMIAL.run(Position.start(1000), [ContextInput.user_turn("hello"), ContextInput.assistant_turn("hi")])
>>> position.state, len(outputs[-1].window)
(<ContextState.ACCUMULATING: 'ACCUMULATING'>, 2)
"""
