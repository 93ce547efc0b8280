"""Compare polynomial agents: equal everywhere, up to a renaming of positions, inputs and outputs.

Agents hold functions, so they are compared by what they do: finite ones completely, by
looking at every direction of every position.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import frozen

from polycontext.linearity import PolycontextError
from polycontext.polynomial.algebra.poly_agent import Left, PolyAgent, Right

AnyAgent = PolyAgent[Any, Any, Any]
Rename = Callable[[Any], Any]

_REFUSALS = (PolycontextError, LookupError, TypeError, ValueError, AttributeError)


def same(value: Any) -> Any:
    """Return `value`."""
    return value


@frozen
class Renaming:
    """Hold how positions, inputs and outputs of one agent are called in another."""

    positions: Rename = same
    inputs: Rename = same
    outputs: Rename = same

    @classmethod
    def all_by(cls, rename: Rename) -> "Renaming":
        """Make the renaming that renames everything alike."""
        return cls(rename, rename, rename)


def difference(left: AnyAgent, right: AnyAgent, renaming: Renaming) -> tuple[object, object]:
    """Return both sides of the first place where `right` is not `left` renamed one to one; two equal values if there is none."""
    here, there = Counter(map(renaming.positions, left.positions)), Counter(right.positions)
    if here != there:
        return ("positions", dict(here)), ("positions", dict(there))
    for position in sorted(left.positions, key=repr):
        sides = _difference_at(position, left, right, renaming)
        if sides[0] != sides[1]:
            return sides
    return None, None


def _difference_at(position: Any, left: AnyAgent, right: AnyAgent, renaming: Renaming) -> tuple[object, object]:
    renamed = renaming.positions(position)
    here, there = Counter(map(renaming.inputs, left.directions(position))), Counter(right.directions(renamed))
    if here != there:
        return ("directions at", renamed, dict(here)), ("directions at", renamed, dict(there))
    for input in sorted(left.directions(position), key=repr):
        expected = outcome(left.invoke, position, input)
        if isinstance(expected, tuple):
            expected = renaming.positions(expected[0]), renaming.outputs(expected[1])
        found = outcome(right.invoke, renamed, renaming.inputs(input))
        if expected != found:
            return ("at", renamed, input, expected), ("at", renamed, input, found)
    return None, None


def outcome(act: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `act` gives, or the name of the error with which it refuses."""
    try:
        return act(*arguments)
    except _REFUSALS as error:
        return type(error).__name__


def walk(agent: AnyAgent, position: Any, choices: Iterable[int]) -> list[Any]:
    """Return a legal run of inputs from `position`: each choice picks one of the directions there; ends where there is none."""
    inputs: list[Any] = []
    for choice in choices:
        legal = sorted(agent.directions(position), key=repr)
        if not legal:
            break
        inputs.append(legal[choice % len(legal)])
        position, _ = agent.invoke(position, inputs[-1])
    return inputs


def twin(agent: AnyAgent) -> AnyAgent:
    """Return an agent that does the same from twice as many positions: each is there once for even and once for odd steps."""

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        after, output = agent.invoke(position[0], input)
        return (after, not position[1]), output

    positions = frozenset((position, odd) for position in agent.positions for odd in (False, True))
    return PolyAgent(positions, lambda position: agent.directions(position[0]), transition)


def passing(values: Iterable[Any]) -> AnyAgent:
    """Return the agent that passes `values` on: the unit of sequential composition for an agent that takes or gives them."""
    legal = frozenset(values)
    return PolyAgent(frozenset({()}), lambda _: legal, lambda position, input: (position, input))


def nothing(directions: Sequence[Any] = ()) -> AnyAgent:
    """Return the agent with one position that keeps its place, whatever of `directions` comes."""
    return PolyAgent(frozenset({()}), lambda _: frozenset(directions), lambda position, _: (position, ()))


IMPOSSIBLE: AnyAgent = PolyAgent(frozenset(), lambda _: frozenset(), lambda position, _: (position, ()))
"""The agent without any position, the unit of +."""


def inputs_of(agent: AnyAgent) -> set[Any]:
    """Return what goes in a direction of any position."""
    return {input for position in agent.positions for input in agent.directions(position)}


def outputs_of(agent: AnyAgent) -> set[Any]:
    """Return what comes out anywhere."""
    return {agent.invoke(position, input)[1] for position in agent.positions for input in agent.directions(position)}


# --- re-bracketings ---------------------------------------------------------


def right_bracket(nested: Any) -> Any:
    """Return ((a, b), c) as (a, (b, c))."""
    (a, b), c = nested
    return a, (b, c)


def right_sum(tagged: Any) -> Any:
    """Return a value of (A + B) + C as one of A + (B + C)."""
    if isinstance(tagged, Right):
        return Right(tagged)
    return tagged.value if isinstance(tagged.value, Left) else Right(Left(tagged.value.value))


def first_of(pair: Any) -> Any:
    """Return a of (a, b)."""
    return pair[0]


def second_of(pair: Any) -> Any:
    """Return b of (a, b)."""
    return pair[1]


def untagged(tagged: Any) -> Any:
    """Return the value without its summand."""
    return tagged.value
