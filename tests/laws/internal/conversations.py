"""The laws of the context polynomial among other agents.

Combinators treat the context polynomial like any finite agent. It has too many positions to compare
them all, so runs are compared: the same inputs, legal or not, from the same windows. A refused
input leaves the position unchanged.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from polycontext.base import PolycontextError
from polycontext.base.law import agree, law
from polycontext.polynomial import (
    ContextInput,
    ContextOutput,
    ContextState,
    Left,
    Position,
    Right,
    Those,
)
from polycontext.polynomial.laws.agents import (
    AnyAgent,
    AnyLens,
    Combine,
    Through,
    right_bracket,
    same,
)
from polycontext.polynomial.laws.machines import new_window_like
from polycontext.window import ContextWindow

_POLY = "Niu and Spivak, Polynomial Functors"

Inputs = Sequence[ContextInput]


def _start(window: ContextWindow) -> Position:
    return Position(ContextState.EMPTY, new_window_like(window))


def _move(agent: AnyAgent, position: Any, given: Any) -> tuple[Any, Any]:
    """Return the position that `given` leads to, and the output.

    If the input is refused, return the same position and None.
    """
    try:
        after, output = agent.invoke(position, given)
    except PolycontextError:
        return position, None
    return after, output


def _run(agent: AnyAgent, position: Any, inputs: Iterable[Any]) -> list[Any]:
    trace = []
    for given in inputs:
        position, output = _move(agent, position, given)
        trace.append((position, _comparable(output)))
    return trace


def _comparable(output: Any) -> Any:
    """Return an output without the objects that runs never share."""
    match output:
        case ContextOutput():
            return output.state, output.window
        case Left() | Right():
            return type(output), _comparable(output.value)
        case tuple():
            return tuple(map(_comparable, output))
        case _:
            return output


@law(_POLY)
def parallel_conversations_run_side_by_side(
    parallel: Combine,
    polynomial: AnyAgent,
    window: ContextWindow,
    inputs: Inputs,
    other_inputs: Inputs,
) -> None:
    """Two conversations in parallel run like two separate ones.

    A pair of inputs moves both, or neither if one of them refuses.
    """
    whole, here, there = parallel(polynomial, polynomial), _start(window), _start(window)
    for one, other in zip(inputs, other_inputs, strict=False):
        moved, output = _move(whole, (here, there), (one, other))
        (left, said), (right, replied) = (
            _move(polynomial, here, one),
            _move(polynomial, there, other),
        )
        if said is not None and replied is not None:
            here, there = left, right
            agree(_comparable(output), (_comparable(said), _comparable(replied)))
        agree(moved, (here, there))


@law(_POLY)
def parallel_conversations_may_be_bracketed(
    parallel: Combine,
    polynomial: AnyAgent,
    window: ContextWindow,
    inputs: Inputs,
    other_inputs: Inputs,
) -> None:
    """(p ⊗ p) ⊗ p runs as p ⊗ (p ⊗ p), by ((a, b), c) ↦ (a, (b, c))."""
    left = parallel(parallel(polynomial, polynomial), polynomial)
    right = parallel(polynomial, parallel(polynomial, polynomial))
    start, given = _start(window), list(zip(inputs, other_inputs, inputs, strict=False))
    bracketed = _run(left, ((start, start), start), [((a, b), c) for a, b, c in given])
    straight = _run(right, (start, (start, start)), [(a, (b, c)) for a, b, c in given])
    agree([right_bracket(place) for place, _ in bracketed], [place for place, _ in straight])


@law(_POLY)
def a_product_of_conversations_moves_one_at_a_time(
    product: Combine,
    polynomial: AnyAgent,
    window: ContextWindow,
    inputs: Inputs,
    other_inputs: Inputs,
) -> None:
    """A run of p × p contains a run of each; inputs to the left and right do not interact."""
    start = _start(window)
    given: list[Any] = [
        tagged
        for pair in zip(map(Left, inputs), map(Right, other_inputs), strict=False)
        for tagged in pair
    ]
    trace = _run(product(polynomial, polynomial), (start, start), given)
    for n, own in enumerate((inputs, other_inputs)):
        agree(
            [place[n] for place, _ in trace[n::2]],
            [place for place, _ in _run(polynomial, start, own[: len(given) // 2])],
            side=n,
        )


@law(_POLY)
def a_sum_of_conversations_is_one_of_them(
    coproduct: Combine, polynomial: AnyAgent, window: ContextWindow, inputs: Inputs
) -> None:
    """A run of p + p is a run of p, tagged, on either side."""
    start, plain = _start(window), _run(polynomial, _start(window), inputs)
    for tag in (Left, Right):
        trace = _run(coproduct(polynomial, polynomial), tag(start), [tag(each) for each in inputs])
        agree([place.value for place, _ in trace], [place for place, _ in plain])


_EVERYTHING = Those(lambda _: True)


_SAME = AnyLens(same, same, _EVERYTHING)


_TOLD = AnyLens(
    same, lambda output: ContextInput.user_turn(f"It stands at {output.state}."), _EVERYTHING
)
"""A lens that turns the output of one conversation into a user turn of another."""


@law(_POLY)
def a_conversation_feeds_another(
    sequential: Combine,
    through: Through,
    polynomial: AnyAgent,
    window: ContextWindow,
    inputs: Inputs,
) -> None:
    """A run of p ; q is a run of q on the outputs of a run of p.

    If q refuses an input, p does not move either.
    """
    listener = through(polynomial, _TOLD)
    whole, here, there = sequential(polynomial, listener), _start(window), _start(window)
    for given in inputs:
        moved, _ = _move(whole, (here, there), given)
        after, output = _move(polynomial, here, given)
        told, heard = (there, None) if output is None else _move(listener, there, output)
        here, there = (here, there) if heard is None else (after, told)
        agree(moved, (here, there))


@law(_POLY)
def the_identity_lens_shows_the_same_conversation(
    through: Through, polynomial: AnyAgent, window: ContextWindow, inputs: Inputs
) -> None:
    """Applying the identity lens, once or twice, leaves a conversation the same."""
    start = _start(window)
    plain = _run(polynomial, start, inputs)
    agree(_run(through(polynomial, _SAME), start, inputs), plain)
    agree(_run(through(polynomial, _SAME.then(_SAME)), start, inputs), plain)
