"""Polynomial functors as agents: positions, the directions of each, and a transition.

The names follow Niu and Spivak, Polynomial Functors: parallel product, coproduct, product,
sequential composition, and change of interface by a lens.
"""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import product as pairs
from operator import attrgetter
from typing import Any, Generic, TypeVar

from attrs import field, frozen

from polycontext.base import PolycontextError
from polycontext.window import ContextWindow

from ..errors import IllegalDirectionError
from ..inputs import ContextInput, ContextOutput
from ..machine.context_machine import ContextMachine, context_transition
from ..machine.step import ContextPolicy
from ..state import ContextState, State

S = TypeVar("S")
A = TypeVar("A")
B = TypeVar("B")
S2 = TypeVar("S2")
A2 = TypeVar("A2")
B2 = TypeVar("B2")
C = TypeVar("C")


def _itself(value: Any) -> Any:
    return value


@frozen(eq=False)
class Those(AbstractSet[Any]):
    """The set of all values that a predicate accepts, for sets too large to list.

    It supports membership tests; iterating over it or taking its length raises `TypeError`, unless
    some of its values are `listed`.

    >>> 4 in Those(lambda value: value % 2 == 0)
    True
    """

    holds: Callable[[Any], bool]
    listed: frozenset[Any] = frozenset()

    def __contains__(self, value: object) -> bool:
        return self.holds(value)

    def __iter__(self) -> Iterator[Any]:
        if not self.listed:
            raise TypeError("these values cannot be listed. Ask whether one is in here.")
        return iter(self.listed)

    def __len__(self) -> int:
        if not self.listed:
            raise TypeError("these values cannot be counted. Ask whether one is in here.")
        return len(self.listed)


@frozen
class PolyAgent(Generic[S, A, B]):
    """An agent: its positions, the directions legal at each, and its transition.

    `direction` maps an input to its direction; by default an input is its own direction. Positions
    and directions are a frozenset if they can be listed, and `Those` if they can only be tested.

    >>> door = PolyAgent(
    ...     frozenset({"open", "shut"}),
    ...     {"open": frozenset({"close"}), "shut": frozenset({"open"})}.__getitem__,
    ...     lambda s, a: ("shut" if a == "close" else "open", a),
    ... )
    >>> door.invoke("open", "close")
    ('shut', 'close')
    """

    positions: AbstractSet[S]
    directions: Callable[[S], AbstractSet[Any]]
    transition: Callable[[S, A], tuple[S, B]]
    direction: Callable[[A], Any] = field(default=_itself)

    def accepts(self, position: S, input: A) -> bool:
        """Return whether the direction of `input` is legal at `position`."""
        return self.direction(input) in self.directions(position)

    def invoke(self, position: S, input: A) -> tuple[S, B]:
        """Return the next position and the output, or raise if the direction is illegal.

        Errors of the transition propagate.

        Raises:
            IllegalDirectionError: the direction of `input` is not legal at `position`.
        """
        legal = self.directions(position)
        # `Those` cannot be listed in an error, so the transition checks the input and raises the
        # more precise error.
        if not isinstance(legal, Those) and self.direction(input) not in legal:
            raise IllegalDirectionError(
                position, self.direction(input), tuple(sorted(legal, key=repr))
            )
        return self.transition(position, input)

    def run(self, position: S, inputs: Iterable[A]) -> tuple[S, list[B]]:
        """Feed `inputs` to the agent in order; return the last position and all outputs."""
        outputs: list[B] = []
        for input in inputs:
            position, output = self.invoke(position, input)
            outputs.append(output)
        return position, outputs


@frozen
class Left(Generic[A]):
    """A value of the first summand."""

    value: A


@frozen
class Right(Generic[A]):
    """A value of the second summand."""

    value: A


def parallel(
    first: PolyAgent[S, A, B], second: PolyAgent[S2, A2, B2]
) -> PolyAgent[tuple[S, S2], tuple[A, A2], tuple[B, B2]]:
    """Return the parallel product ⊗: both agents move at once, and directions are pairs."""

    def transition(
        position: tuple[S, S2], input: tuple[A, A2]
    ) -> tuple[tuple[S, S2], tuple[B, B2]]:
        s, b = first.invoke(position[0], input[0])
        s2, b2 = second.invoke(position[1], input[1])
        return (s, s2), (b, b2)

    return PolyAgent(
        _pairs(first.positions, second.positions),
        lambda position: _pairs(first.directions(position[0]), second.directions(position[1])),
        transition,
        _itself
        if _are_plain(first, second)
        else lambda input: (first.direction(input[0]), second.direction(input[1])),
    )


def _are_plain(*agents: PolyAgent[Any, Any, Any]) -> bool:
    """Return whether every input of the agents is its own direction.

    If so, the same holds for any combination of them.
    """
    return all(agent.direction is _itself for agent in agents)


def _pairs(first: AbstractSet[Any], second: AbstractSet[Any]) -> AbstractSet[Any]:
    if isinstance(first, frozenset) and isinstance(second, frozenset):
        return frozenset(pairs(first, second))

    def holds(pair: object) -> bool:
        match pair:
            case tuple((one, other)):
                return one in first and other in second
            case _:
                return False

    return Those(holds)


def _sum(first: AbstractSet[Any], second: AbstractSet[Any]) -> AbstractSet[Any]:
    if isinstance(first, frozenset) and isinstance(second, frozenset):
        return frozenset([*map(Left, first), *map(Right, second)])
    return Those(
        lambda each: (
            each.value in first
            if isinstance(each, Left)
            else isinstance(each, Right) and each.value in second
        )
    )


def _tagged(
    first: PolyAgent[Any, Any, Any], second: PolyAgent[Any, Any, Any]
) -> Callable[[Left[Any] | Right[Any]], Any]:
    if _are_plain(first, second):
        return _itself

    def direction(input: Left[Any] | Right[Any]) -> Left[Any] | Right[Any]:
        if isinstance(input, Left):
            return Left(first.direction(input.value))
        return Right(second.direction(input.value))

    return direction


def coproduct(
    first: PolyAgent[S, A, B], second: PolyAgent[S2, A2, B2]
) -> PolyAgent[Left[S] | Right[S2], Left[A] | Right[A2], Left[B] | Right[B2]]:
    """Return the coproduct +: the agent behaves as one of the two and never switches."""
    nothing: frozenset[Any] = frozenset()

    def directions(position: Left[S] | Right[S2]) -> AbstractSet[Any]:
        if isinstance(position, Left):
            return _sum(first.directions(position.value), nothing)
        return _sum(nothing, second.directions(position.value))

    def transition(position: Any, input: Any) -> tuple[Left[S] | Right[S2], Left[B] | Right[B2]]:
        if type(position) is not type(input):
            raise IllegalDirectionError(
                position, input, (f"inputs tagged {type(position).__name__}",)
            )
        if isinstance(position, Left):
            s, b = first.invoke(position.value, input.value)
            return Left(s), Left(b)
        s2, b2 = second.invoke(position.value, input.value)
        return Right(s2), Right(b2)

    return PolyAgent(
        _sum(first.positions, second.positions), directions, transition, _tagged(first, second)
    )


def product(
    first: PolyAgent[S, A, B], second: PolyAgent[S2, A2, B2]
) -> PolyAgent[tuple[S, S2], Left[A] | Right[A2], Left[B] | Right[B2]]:
    """Return the product ×: both agents keep a position, and each input moves one of them."""

    def directions(position: tuple[S, S2]) -> AbstractSet[Any]:
        return _sum(first.directions(position[0]), second.directions(position[1]))

    def transition(position: tuple[S, S2], input: Any) -> tuple[tuple[S, S2], Left[B] | Right[B2]]:
        if isinstance(input, Left):
            s, b = first.invoke(position[0], input.value)
            return (s, position[1]), Left(b)
        s2, b2 = second.invoke(position[1], input.value)
        return (position[0], s2), Right(b2)

    return PolyAgent(
        _pairs(first.positions, second.positions), directions, transition, _tagged(first, second)
    )


def sequential(
    first: PolyAgent[S, A, B], second: PolyAgent[S2, B, C]
) -> PolyAgent[tuple[S, S2], A, C]:
    """Return the agent that feeds every output of `first` to `second`.

    Its directions are exactly what its transition accepts: inputs of `first` whose output `second`
    accepts. They are listed if the inputs of `first` are their own directions and can be listed;
    otherwise they can only be tested one by one.
    """

    def accepts(position: tuple[S, S2], input: Any) -> bool:
        if not first.accepts(position[0], input):
            return False
        try:
            _, output = first.transition(position[0], input)
        except PolycontextError:
            return False
        return second.accepts(position[1], output)

    def directions(position: tuple[S, S2]) -> AbstractSet[Any]:
        legal = first.directions(position[0])
        if _are_plain(first) and isinstance(legal, frozenset):
            return frozenset(a for a in legal if accepts(position, a))
        return Those(lambda input: accepts(position, input))

    def transition(position: tuple[S, S2], input: A) -> tuple[tuple[S, S2], C]:
        s, b = first.invoke(position[0], input)
        s2, c = second.invoke(position[1], b)
        return (s, s2), c

    return PolyAgent(_pairs(first.positions, second.positions), directions, transition)


@frozen
class Lens(Generic[A, B, A2, B2]):
    """A change of interface.

    `push` maps outputs outwards; `pull` maps the inputs in `domain` inwards.
    """

    push: Callable[[B], B2]
    pull: Callable[[A2], A]
    domain: AbstractSet[A2]

    def then(self, outer: "Lens[A2, B2, C, Any]") -> "Lens[A, B, C, Any]":
        """Return this lens followed by `outer`.

        Law: ``through(through(p, f), g) == through(p, f.then(g))``.
        """
        domain = _those_of(outer.domain, lambda c: outer.pull(c) in self.domain)
        return Lens(lambda b: outer.push(self.push(b)), lambda c: self.pull(outer.pull(c)), domain)


def through(agent: PolyAgent[S, A, B], lens: Lens[A, B, A2, B2]) -> PolyAgent[S, A2, B2]:
    """Return `agent` with its interface changed by `lens`.

    Its directions are the inputs of the lens's domain whose pulled-back input `agent` accepts.
    """

    def transition(position: S, input: A2) -> tuple[S, B2]:
        s, b = agent.invoke(position, lens.pull(input))
        return s, lens.push(b)

    def directions(position: S) -> AbstractSet[A2]:
        return _those_of(lens.domain, lambda a2: agent.accepts(position, lens.pull(a2)))

    return PolyAgent(agent.positions, directions, transition)


def _those_of(values: AbstractSet[Any], holds: Callable[[Any], bool]) -> AbstractSet[Any]:
    if isinstance(values, frozenset):
        return frozenset(value for value in values if holds(value))
    return Those(lambda value: value in values and holds(value))


# --- the context as an agent -----------------------------------------------------------


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


def context_polynomial(
    machine: type[ContextMachine] = ContextMachine, policy: ContextPolicy | None = None
) -> PolyAgent[Position, ContextInput, ContextOutput]:
    """Return a machine class as a polynomial, under `policy`.

    Positions carry their window, and directions are kinds of input. The places of the machine are
    listed: you can ask each for its directions, but only a `Position` can move. Those of a machine
    with regions are the parallel product of the regions' states: a direction is an event that
    every region accepts which knows it.

    >>> sorted(map(str, context_polynomial().positions))
    ['ACCUMULATING', 'COMPRESSED', 'EMPTY', 'PRESSURED']
    """
    places = machine.directions

    def transition(
        position: Position, context_input: ContextInput
    ) -> tuple[Position, ContextOutput]:
        place, output = context_transition(
            position.state, context_input, position.window, policy, machine
        )
        return Position(place, output.window), output

    return PolyAgent(
        Those(lambda each: _place(each) in places, frozenset(places)),
        lambda position: places[_place(position)],
        transition,
        attrgetter("kind"),
    )


def _place(position: Any) -> Any:
    return position.state if isinstance(position, Position) else position


CONTEXT_POLYNOMIAL = context_polynomial()
"""The context polynomial under the default policy.

>>> inputs = [ContextInput.user_turn("hello"), ContextInput.assistant_turn("hi")]
>>> position, outputs = CONTEXT_POLYNOMIAL.run(Position.start(1000), inputs)
>>> position.state, len(outputs[-1].window)
(<ContextState.ACCUMULATING: 'ACCUMULATING'>, 2)
"""
