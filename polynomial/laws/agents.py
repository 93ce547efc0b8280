"""The laws of agents, combinators and lenses.

Finite agents are compared at every position and direction, up to the re-bracketing that each law
names. Every agent's inputs are their own directions. The combinator is an input of its laws.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from polycontext.base import PolycontextError
from polycontext.base.law import agree, holds, law, outcome

from ..algebra.poly_agent import Left, Lens, PolyAgent, Right

_POLY = "Niu and Spivak, Polynomial Functors"
_LENS = "Niu and Spivak, Polynomial Functors, on dependent lenses"

AnyAgent = PolyAgent[Any, Any, Any]
Combine = Callable[[AnyAgent, AnyAgent], AnyAgent]
AnyLens = Lens[Any, Any, Any, Any]
Through = Callable[[AnyAgent, AnyLens], AnyAgent]
Rename = Callable[[Any], Any]

first_of, second_of, untagged = itemgetter(0), itemgetter(1), attrgetter("value")

# Errors that a broken agent may raise count as refusals, so that the law shows them.
_outcome = partial(
    outcome, refusals=(PolycontextError, LookupError, TypeError, ValueError, AttributeError)
)


@law(_POLY)
def directions_are_exactly_what_is_accepted(agent: AnyAgent) -> None:
    """A direction leads to a position; any other input is refused, by the transition too."""
    known = inputs_of(agent)
    for position in agent.positions:
        legal = agent.directions(position)
        for input in known:
            moved = [_outcome(act, position, input) for act in (agent.invoke, agent.transition)]
            if input in legal:
                leads = all(
                    isinstance(each, tuple) and each[0] in agent.positions for each in moved
                )
                holds(leads, "a direction leads to a position", moved, input=input)
            else:
                refused = all(isinstance(each, type) for each in moved)
                holds(refused, "an input that is not a direction is refused", moved, input=input)


@law(_POLY)
def directions_of_a_composite_are_exactly_what_it_accepts(
    combine: Combine, agent: AnyAgent, other_agent: AnyAgent
) -> None:
    """A composite of two agents accepts exactly its directions; a refusal changes nothing."""
    whole = combine(agent, other_agent)
    before = _table(whole)
    known = inputs_of(whole)
    for position in whole.positions:
        for input in known:
            accepted = isinstance(_outcome(whole.transition, position, input), tuple)
            agree(accepted, input in whole.directions(position), position=position, input=input)
    agree(_table(whole), before)


def _table(agent: AnyAgent) -> dict[Any, dict[Any, Any]]:
    return {
        s: {a: _outcome(agent.invoke, s, a) for a in agent.directions(s)} for s in agent.positions
    }


@law(_POLY)
def parallel_is_associative(
    parallel: Combine, agent: AnyAgent, other_agent: AnyAgent, third_agent: AnyAgent
) -> None:
    """(p ⊗ q) ⊗ r ≅ p ⊗ (q ⊗ r), by ((a, b), c) ↦ (a, (b, c)) on positions, inputs and outputs."""
    both = _bracket(parallel, agent, other_agent, third_agent)
    agree(*difference(*both, *[right_bracket] * 3))


def _bracket(combine: Combine, p: AnyAgent, q: AnyAgent, r: AnyAgent) -> tuple[AnyAgent, AnyAgent]:
    return combine(combine(p, q), r), combine(p, combine(q, r))


@law(_POLY)
def parallel_has_a_unit(parallel: Combine, agent: AnyAgent) -> None:
    """P ⊗ y ≅ p ≅ y ⊗ p, by forgetting y, which has one position and one direction."""
    unit = nothing([()])
    agree(*difference(parallel(agent, unit), agent, *[first_of] * 3))
    agree(*difference(parallel(unit, agent), agent, *[second_of] * 3))


@law(_POLY)
def coproduct_is_associative(
    coproduct: Combine, agent: AnyAgent, other_agent: AnyAgent, third_agent: AnyAgent
) -> None:
    """(p + q) + r ≅ p + (q + r), by moving the tags of positions, inputs and outputs."""
    both = _bracket(coproduct, agent, other_agent, third_agent)
    agree(*difference(*both, *[right_sum] * 3))


@law(_POLY)
def coproduct_has_a_unit(coproduct: Combine, agent: AnyAgent) -> None:
    """P + 0 ≅ p ≅ 0 + p, where 0 has no position, by forgetting the tags."""
    for whole in (coproduct(agent, IMPOSSIBLE), coproduct(IMPOSSIBLE, agent)):
        agree(*difference(whole, agent, *[untagged] * 3))


@law(_POLY)
def product_is_associative(
    product: Combine, agent: AnyAgent, other_agent: AnyAgent, third_agent: AnyAgent
) -> None:
    """(p × q) × r ≅ p × (q × r), by re-bracketing positions and re-tagging inputs and outputs."""
    both = _bracket(product, agent, other_agent, third_agent)
    agree(*difference(*both, right_bracket, right_sum, right_sum))


@law(_POLY)
def product_has_a_unit(product: Combine, agent: AnyAgent) -> None:
    """P × 1 ≅ p ≅ 1 × p, by forgetting the tags and 1, which has one position and no direction."""
    unit = nothing()
    agree(*difference(product(agent, unit), agent, first_of, untagged, untagged))
    agree(*difference(product(unit, agent), agent, second_of, untagged, untagged))


@law(_POLY)
def sequential_is_associative(
    sequential: Combine, agent: AnyAgent, other_agent: AnyAgent, third_agent: AnyAgent
) -> None:
    """(p ; q) ; r ≅ p ; (q ; r), by ((a, b), c) ↦ (a, (b, c)) on positions alone."""
    both = _bracket(sequential, agent, other_agent, third_agent)
    agree(*difference(*both, right_bracket))


@law(_POLY)
def sequential_has_units(sequential: Combine, agent: AnyAgent) -> None:
    """Id ; p ≅ p ≅ p ; id, by forgetting id, which passes on every input or output of p."""
    before, after = passing(inputs_of(agent)), passing(outputs_of(agent))
    agree(*difference(sequential(before, agent), agent, second_of))
    agree(*difference(sequential(agent, after), agent, first_of))


@law(_POLY)
def parallel_runs_as_its_parts(
    parallel: Combine, agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]
) -> None:
    """A run of p ⊗ q is a run of p beside a run of q, with the same positions and outputs."""
    whole = parallel(agent, other_agent)
    for position in whole.positions:
        inputs = walk(whole, position, choices)
        s, outputs = run_of(agent, position[0], [input[0] for input in inputs])
        s2, outputs2 = run_of(other_agent, position[1], [input[1] for input in inputs])
        expected = (s, s2), list(zip(outputs, outputs2, strict=False))
        agree(run_of(whole, position, inputs), expected, inputs=inputs)


def run_of(agent: AnyAgent, position: Any, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the last position, or the type of the error, and the outputs of a run."""
    ran = _outcome(agent.run, position, inputs)
    return (ran, []) if isinstance(ran, type) else ran


@law(_POLY)
def coproduct_runs_as_its_part(
    coproduct: Combine, agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]
) -> None:
    """A run of p + q is a run of p or a run of q, tagged."""
    whole = coproduct(agent, other_agent)
    for position in whole.positions:
        side: Callable[[Any], Any] = Left if isinstance(position, Left) else Right
        part = agent if isinstance(position, Left) else other_agent
        inputs = walk(whole, position, choices)
        after, outputs = run_of(part, position.value, [input.value for input in inputs])
        expected = side(after), list(map(side, outputs))
        agree(run_of(whole, position, inputs), expected, inputs=inputs)


@law(_POLY)
def product_runs_as_its_parts(
    product: Combine, agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]
) -> None:
    """A run of p × q contains a run of p and one of q, each on its own inputs in their order."""
    whole = product(agent, other_agent)
    for position in whole.positions:
        inputs = walk(whole, position, choices)
        after, outputs = run_of(whole, position, inputs)
        for n, part in enumerate((agent, other_agent)):
            own, seen = (_on_side(n, values) for values in (inputs, outputs))
            agree((after[n], seen), run_of(part, position[n], own), inputs=inputs)


def _on_side(side: int, tagged: Sequence[Any]) -> list[Any]:
    return [each.value for each in tagged if isinstance(each, Right if side else Left)]


@law(_POLY)
def sequential_runs_as_its_parts(
    sequential: Combine, agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]
) -> None:
    """A run of p ; q is a run of q on the outputs of a run of p."""
    whole = sequential(agent, other_agent)
    for position in whole.positions:
        inputs = walk(whole, position, choices)
        s, between = run_of(agent, position[0], inputs)
        s2, outputs = run_of(other_agent, position[1], between)
        agree(run_of(whole, position, inputs), ((s, s2), outputs), inputs=inputs)


@law(_LENS)
def the_identity_lens_changes_nothing(through: Through, agent: AnyAgent) -> None:
    """The identity lens leaves an agent unchanged."""
    identity: AnyLens = Lens(same, same, frozenset(inputs_of(agent)))
    agree(*difference(through(agent, identity), agent))


@law(_LENS)
def changing_interfaces_composes(
    through: Through, agent: AnyAgent, lens: AnyLens, other_lens: AnyLens
) -> None:
    """``through(through(p, f), g) ≅ through(p, f.then(g))``.

    Applying one lens and then another is the same as applying their composition.
    """
    one_by_one = through(through(agent, lens), other_lens)
    agree(*difference(one_by_one, through(agent, lens.then(other_lens))))


@law(_LENS)
def lenses_compose_associatively(
    agent: AnyAgent, lens: AnyLens, other_lens: AnyLens, third_lens: AnyLens
) -> None:
    """``f.then(g).then(h)`` and ``f.then(g.then(h))`` have the same domain, pull and push."""
    left, right = lens.then(other_lens).then(third_lens), lens.then(other_lens.then(third_lens))
    agree(
        (left.domain, {a: left.pull(a) for a in left.domain}),
        (right.domain, {a: right.pull(a) for a in right.domain}),
    )
    outputs = sorted(outputs_of(agent), key=repr)
    agree(list(map(left.push, outputs)), list(map(right.push, outputs)))


# --- comparing finite agents completely, by their behaviour ---------------------------------


def same(value: Any) -> Any:
    """Return `value`."""
    return value


def difference(
    left: AnyAgent,
    right: AnyAgent,
    positions: Rename = same,
    inputs: Rename = same,
    outputs: Rename = same,
) -> tuple[object, object]:
    """Return both sides of the first difference between `right` and the renamed `left`.

    Return two equal values if there is none. The renamings map the positions, inputs and outputs of
    `left` to those of `right`, one to one.
    """
    for sides in _sides(left, right, positions, inputs, outputs):
        if sides[0] != sides[1]:
            return sides
    return None, None


def _sides(
    left: AnyAgent, right: AnyAgent, positions: Rename, inputs: Rename, outputs: Rename
) -> Iterator[tuple[object, object]]:
    """Yield pairs that must be equal: positions and directions first, then what they lead to."""
    yield (
        ("positions", Counter(map(positions, left.positions))),
        ("positions", Counter(right.positions)),
    )
    for position in sorted(left.positions, key=repr):
        renamed, legal = positions(position), left.directions(position)
        yield (
            ("directions at", renamed, Counter(map(inputs, legal))),
            ("directions at", renamed, Counter(right.directions(renamed))),
        )
        for input in sorted(legal, key=repr):
            expected = _outcome(left.invoke, position, input)
            found = _outcome(right.invoke, renamed, inputs(input))
            if isinstance(expected, tuple):
                expected = positions(expected[0]), outputs(expected[1])
            yield ("at", renamed, input, expected), ("at", renamed, input, found)


def walk(agent: AnyAgent, position: Any, choices: Iterable[int]) -> list[Any]:
    """Return a legal run of inputs from `position`: each choice picks one of the directions there.

    The run ends early at a position without directions.
    """
    inputs: list[Any] = []
    for choice in choices:
        legal = sorted(agent.directions(position), key=repr)
        if not legal:
            break
        inputs.append(legal[choice % len(legal)])
        position, _ = agent.invoke(position, inputs[-1])
    return inputs


def passing(values: Iterable[Any]) -> AnyAgent:
    """Return the agent that passes `values` on unchanged.

    It is the unit of sequential composition for an agent with these inputs or outputs.
    """
    legal = frozenset(values)
    return PolyAgent(frozenset({()}), lambda _: legal, lambda position, input: (position, input))


def nothing(directions: Sequence[Any] = ()) -> AnyAgent:
    """Return the agent with one position that accepts `directions` and never changes."""
    return PolyAgent(
        frozenset({()}), lambda _: frozenset(directions), lambda position, _: (position, ())
    )


IMPOSSIBLE: AnyAgent = PolyAgent(
    frozenset(), lambda _: frozenset(), lambda position, _: (position, ())
)
"""The agent without positions, which is the unit of +."""


def inputs_of(agent: AnyAgent) -> set[Any]:
    """Return the directions of all positions."""
    return {input for position in agent.positions for input in agent.directions(position)}


def outputs_of(agent: AnyAgent) -> set[Any]:
    """Return the outputs of all positions and directions."""
    return {
        agent.invoke(position, input)[1]
        for position in agent.positions
        for input in agent.directions(position)
    }


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
