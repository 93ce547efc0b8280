"""Polynomial functors as agents: positions, the directions of each, and a transition.

The names are the field's own (Niu and Spivak, Polynomial Functors): parallel
product, coproduct, product, sequential composition, change of interface by a lens.
"""

from collections.abc import Callable, Iterable
from itertools import product as pairs
from typing import Any, Generic, TypeVar

from attrs import define, field, frozen

from polycontext.linearity import CallerError

S = TypeVar("S")
A = TypeVar("A")
B = TypeVar("B")
S2 = TypeVar("S2")
A2 = TypeVar("A2")
B2 = TypeVar("B2")
C = TypeVar("C")


@define(slots=False, eq=False)
class DirectionError(CallerError, ValueError):
    """Refuse an input that is no direction of the position."""

    position: object
    direction: object

    def __str__(self) -> str:
        return f"{self.direction!r} is no direction of position {self.position!r}"


@frozen
class PolyAgent(Generic[S, A, B]):
    """Hold an agent: its positions, the directions legal at each, and what an input does there.

    `transition` takes a position, an input and whatever else the agent remembers. `direction`
    tells which direction an input goes in; inputs that are their own direction need none.

    >>> door = PolyAgent(
    ...     frozenset({"open", "shut"}),
    ...     {"open": frozenset({"close"}), "shut": frozenset({"open"})}.__getitem__,
    ...     lambda s, a: ("shut" if a == "close" else "open", a),
    ... )
    >>> door.invoke("open", "close")
    ('shut', 'close')
    """

    positions: frozenset[S]
    directions: Callable[[S], frozenset[Any]]
    transition: Callable[..., tuple[S, B]]
    direction: Callable[[A], Any] = field(default=lambda a: a)

    def accepts(self, position: S, input: A) -> bool:
        """Tell whether `input` goes in a direction of `position`."""
        return self.direction(input) in self.directions(position)

    def invoke(self, position: S, input: A, *memory: object) -> tuple[S, B]:
        """Return the next position and the output; refuse what is no direction.

        Raises:
            DirectionError: `input` is no direction of `position`.
        """
        if not self.accepts(position, input):
            raise DirectionError(position, self.direction(input))
        return self.transition(position, input, *memory)

    def run(self, position: S, inputs: Iterable[A]) -> tuple[S, list[B]]:
        """Take `inputs` one after the other; return the last position and all outputs."""
        outputs: list[B] = []
        for input in inputs:
            position, output = self.invoke(position, input)
            outputs.append(output)
        return position, outputs


@frozen
class Left(Generic[A]):
    """Mark a value of the first summand."""

    value: A


@frozen
class Right(Generic[A]):
    """Mark a value of the second summand."""

    value: A


def parallel(first: PolyAgent[S, A, B], second: PolyAgent[S2, A2, B2]) -> PolyAgent[tuple[S, S2], tuple[A, A2], tuple[B, B2]]:
    """Return ⊗: both agents move at once; directions are pairs."""

    def transition(position: tuple[S, S2], input: tuple[A, A2]) -> tuple[tuple[S, S2], tuple[B, B2]]:
        s, b = first.invoke(position[0], input[0])
        s2, b2 = second.invoke(position[1], input[1])
        return (s, s2), (b, b2)

    return PolyAgent(
        frozenset(pairs(first.positions, second.positions)),
        lambda position: frozenset(pairs(first.directions(position[0]), second.directions(position[1]))),
        transition,
        lambda input: (first.direction(input[0]), second.direction(input[1])),
    )


def _tagged(first: PolyAgent[Any, Any, Any], second: PolyAgent[Any, Any, Any]) -> Callable[[Left[Any] | Right[Any]], Any]:
    def direction(input: Left[Any] | Right[Any]) -> Left[Any] | Right[Any]:
        if isinstance(input, Left):
            return Left(first.direction(input.value))
        return Right(second.direction(input.value))

    return direction


def coproduct(
    first: PolyAgent[S, A, B], second: PolyAgent[S2, A2, B2]
) -> PolyAgent[Left[S] | Right[S2], Left[A] | Right[A2], Left[B] | Right[B2]]:
    """Return +: the agent is one of both, and stays that one."""

    def directions(position: Left[S] | Right[S2]) -> frozenset[Any]:
        if isinstance(position, Left):
            return frozenset(map(Left, first.directions(position.value)))
        return frozenset(map(Right, second.directions(position.value)))

    def transition(position: Any, input: Any) -> tuple[Left[S] | Right[S2], Left[B] | Right[B2]]:
        if type(position) is not type(input):
            raise DirectionError(position, input)
        if isinstance(position, Left):
            s, b = first.invoke(position.value, input.value)
            return Left(s), Left(b)
        s2, b2 = second.invoke(position.value, input.value)
        return Right(s2), Right(b2)

    positions: frozenset[Left[S] | Right[S2]] = frozenset([*map(Left, first.positions), *map(Right, second.positions)])
    return PolyAgent(positions, directions, transition, _tagged(first, second))


def product(first: PolyAgent[S, A, B], second: PolyAgent[S2, A2, B2]) -> PolyAgent[tuple[S, S2], Left[A] | Right[A2], Left[B] | Right[B2]]:
    """Return ×: both are there, and each input moves one of them."""

    def directions(position: tuple[S, S2]) -> frozenset[Any]:
        return frozenset({*map(Left, first.directions(position[0])), *map(Right, second.directions(position[1]))})

    def transition(position: tuple[S, S2], input: Any) -> tuple[tuple[S, S2], Left[B] | Right[B2]]:
        if isinstance(input, Left):
            s, b = first.invoke(position[0], input.value)
            return (s, position[1]), Left(b)
        s2, b2 = second.invoke(position[1], input.value)
        return (position[0], s2), Right(b2)

    return PolyAgent(frozenset(pairs(first.positions, second.positions)), directions, transition, _tagged(first, second))


def sequential(first: PolyAgent[S, A, B], second: PolyAgent[S2, B, C]) -> PolyAgent[tuple[S, S2], A, C]:
    """Return the agent that feeds every output of the first to the second.

    Its directions are exactly what its transition accepts: inputs of the first whose output
    the second accepts. The first agent's inputs must be their own directions, so that they can be tried.
    """

    def directions(position: tuple[S, S2]) -> frozenset[Any]:
        return frozenset(a for a in first.directions(position[0]) if second.accepts(position[1], first.transition(position[0], a)[1]))

    def transition(position: tuple[S, S2], input: A) -> tuple[tuple[S, S2], C]:
        s, b = first.invoke(position[0], input)
        s2, c = second.invoke(position[1], b)
        return (s, s2), c

    return PolyAgent(frozenset(pairs(first.positions, second.positions)), directions, transition)


@frozen
class Lens(Generic[A, B, A2, B2]):
    """Change an interface: `push` maps outputs outward, `pull` maps the inputs of `domain` inward."""

    push: Callable[[B], B2]
    pull: Callable[[A2], A]
    domain: frozenset[A2]

    def then(self, outer: "Lens[A2, B2, C, Any]") -> "Lens[A, B, C, Any]":
        """Return this lens followed by `outer`. Law: ``through(through(p, f), g) == through(p, f.then(g))``."""
        domain = frozenset(c for c in outer.domain if outer.pull(c) in self.domain)
        return Lens(lambda b: outer.push(self.push(b)), lambda c: self.pull(outer.pull(c)), domain)


def through(agent: PolyAgent[S, A, B], lens: Lens[A, B, A2, B2]) -> PolyAgent[S, A2, B2]:
    """Return `agent` seen through `lens`; directions are the inputs of the domain that it accepts."""

    def transition(position: S, input: A2) -> tuple[S, B2]:
        s, b = agent.invoke(position, lens.pull(input))
        return s, lens.push(b)

    def directions(position: S) -> frozenset[A2]:
        return frozenset(a2 for a2 in lens.domain if agent.accepts(position, lens.pull(a2)))

    return PolyAgent(agent.positions, directions, transition)
