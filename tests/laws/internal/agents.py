"""The law of parts that behave alike."""

from collections.abc import Sequence
from typing import Any

from polycontext.base.law import agree, law
from polycontext.polynomial import Left, PolyAgent, Right
from polycontext.polynomial.laws.agents import AnyAgent, Combine, run_of, walk


@law("Park, Concurrency and Automata on Infinite Sequences, on bisimulation")
def bisimilar_parts_make_bisimilar_composites(
    combine: Combine, agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]
) -> None:
    """A part can be replaced by a bisimilar one, and the composite behaves the same.

    A composite depends on the inputs and outputs of its parts, not on their positions.
    """
    whole, replaced = combine(agent, other_agent), combine(twin(agent), other_agent)
    for position in whole.positions:
        inputs = walk(whole, position, choices)
        there, expected = run_of(whole, position, inputs)
        here, found = run_of(replaced, _twin_position(position), inputs)
        agree(found, expected, position=position, inputs=inputs)
        agree(replaced.directions(here), whole.directions(there), position=position, inputs=inputs)


def _twin_position(position: Any) -> Any:
    match position:
        case Left():
            return Left((position.value, False))
        case Right():
            return position
        case _:
            return (position[0], False), position[1]


def twin(agent: AnyAgent) -> AnyAgent:
    """Return an agent like `agent` with a copy of each position for even and for odd steps."""

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        after, output = agent.invoke(position[0], input)
        return (after, not position[1]), output

    positions = frozenset((position, odd) for position in agent.positions for odd in (False, True))
    return PolyAgent(positions, lambda position: agent.directions(position[0]), transition)
