"""The machine as a polynomial functor: positions, the directions of each, and a transition.

The names follow Niu and Spivak, Polynomial Functors.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from attrs import frozen

from polycontext.window import ContextWindow

from ..inputs import ContextInput, ContextOutput, Kind
from ..machine.context_machine import ContextMachine, context_transition
from ..machine.step import ContextPolicy
from ..state import ContextState, State


@frozen
class Position:
    """A position of the context polynomial: a place of the machine and its window.

    The place is the state of the context, with those of other regions (docs/machine.md).
    """

    state: State
    window: ContextWindow

    @classmethod
    def start(cls, max_tokens: int) -> "Position":
        """Return the start position of a conversation with a budget of `max_tokens`."""
        return cls(ContextState.EMPTY, ContextWindow(max_tokens))


def _place(position: Any) -> Any:
    return position.state if isinstance(position, Position) else position


@frozen(eq=False)
class _Positions(AbstractSet[Any]):
    """The places of a machine, each alone and with any window; the places alone are listed."""

    places: Mapping[State, frozenset[Kind]]

    def __contains__(self, value: object) -> bool:
        return _place(value) in self.places

    def __iter__(self) -> Iterator[State]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


@frozen
class PolyAgent:
    """A machine class as a polynomial, under `policy`.

    Positions carry their window, and directions are kinds of input. The places of the machine are
    listed: you can ask each for its directions, but only a `Position` can move. Those of a machine
    with regions are the parallel product of the regions' states: a direction is an event that
    every region accepts which knows it.

    >>> sorted(map(str, PolyAgent().positions))
    ['ACCUMULATING', 'COMPRESSED', 'EMPTY', 'PRESSURED']
    """

    machine: type[ContextMachine] = ContextMachine
    policy: ContextPolicy | None = None

    @property
    def positions(self) -> AbstractSet[Any]:
        """Return the places, as a set that has every `Position` in one of them too."""
        return _Positions(self.machine.directions)

    def directions(self, position: Position | State) -> frozenset[Kind]:
        """Return the events that are legal at a position."""
        return self.machine.directions[_place(position)]

    def invoke(
        self, position: Position, context_input: ContextInput
    ) -> tuple[Position, ContextOutput]:
        """Return the next position and the output; raise as `context_transition` does."""
        place, output = context_transition(
            position.state, context_input, position.window, self.policy, self.machine
        )
        return Position(place, output.window), output

    def run(
        self, position: Position, inputs: Iterable[ContextInput]
    ) -> tuple[Position, list[ContextOutput]]:
        """Feed `inputs` to the machine in order; return the last position and all outputs."""
        outputs: list[ContextOutput] = []
        for context_input in inputs:
            position, output = self.invoke(position, context_input)
            outputs.append(output)
        return position, outputs


CONTEXT_POLYNOMIAL = PolyAgent()
"""The context polynomial under the default policy.

>>> inputs = [ContextInput.user_turn("hello"), ContextInput.assistant_turn("hi")]
>>> position, outputs = CONTEXT_POLYNOMIAL.run(Position.start(1000), inputs)
>>> position.state, len(outputs[-1].window)
(<ContextState.ACCUMULATING: 'ACCUMULATING'>, 2)
"""
