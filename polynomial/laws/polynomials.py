"""The laws of the context polynomial among other agents, and of the operad of windows.

Combinators treat the context polynomial like any finite agent. It has too many positions to compare
them all, so runs are compared: the same inputs, legal or not, from the same windows. A refused
input leaves the position unchanged.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, cycle, islice
from typing import Any

from attrs import evolve

from polycontext.base import InvalidOptionError, PolycontextError
from polycontext.base.law import agree, holds, law, outcome
from polycontext.window import ContextWindow

from ..algebra.operad import Operation
from ..algebra.poly_agent import Left, Position, Right, Those
from ..inputs import ContextInput, ContextOutput
from ..state import ContextState
from .agents import AnyAgent, AnyLens, Combine, Through, right_bracket, same
from .machines import new_window_like

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


# --- the operad of windows ---------------------------------------------------------------

_OPERAD = "May, The Geometry of Iterated Loop Spaces"

Outcome = ContextWindow | type[Exception]
"""The window that an operation returns, or the type of the error that it raises."""


def _contents(made: Outcome) -> Any:
    """Return the content of a window with the classes of its turns, without their ids."""
    if isinstance(made, type):
        return made
    return [
        (turn.role, turn.content, turn.tool_calls, turn.tool_call_id, made.class_of(turn))
        for turn in made.all_turns()
    ]


@law(_OPERAD)
def composing_with_identities_changes_nothing(
    identity: Operation, operation: Operation, window: ContextWindow
) -> None:
    """``id.compose(o)`` and ``o.compose(id, ..., id)`` do what ``o`` does."""
    windows = [window] * operation.arity
    expected = outcome(operation, *windows)
    agree(outcome(identity.compose(operation), *windows), expected)
    agree(outcome(operation.compose(*[identity] * operation.arity), *windows), expected)


@law(_OPERAD)
def composing_is_associative(
    operation: Operation, operations: Sequence[Operation], window: ContextWindow
) -> None:
    """``o.compose(*i).compose(*j) = o.compose(i1.compose(..), ..)``.

    Composing inside first or outside first gives the same operation.
    """
    pool = cycle(operations)
    inner = list(islice(pool, operation.arity))
    groups = [list(islice(pool, each.arity)) for each in inner]
    outside_first = operation.compose(*inner).compose(*chain.from_iterable(groups))
    inside_first = operation.compose(
        *(each.compose(*group) for each, group in zip(inner, groups, strict=True))
    )
    windows = [window] * outside_first.arity
    agree(outside_first.arity, inside_first.arity)
    agree(outcome(outside_first, *windows), outcome(inside_first, *windows))


@law(_OPERAD)
def arities_add_up(operation: Operation, operations: Sequence[Operation]) -> None:
    """The arity of a composite is the sum of the arities inside."""
    inner = list(islice(cycle(operations), operation.arity))
    agree(operation.compose(*inner).arity, sum(each.arity for each in inner))


@law(_OPERAD)
def an_operation_takes_as_many_windows_as_its_arity(
    operation: Operation, window: ContextWindow
) -> None:
    """Any other number of windows, or of operations to compose with, raises an error.

    The error is an `InvalidOptionError`.
    """
    for given in {0, 1, operation.arity + 1} - {operation.arity}:
        for act, what in ((operation, window), (operation.compose, operation)):
            refused = outcome(act, *[what] * given, refusals=(PolycontextError, TypeError))
            holds(refused is InvalidOptionError, "an InvalidOptionError", refused, given=given)


@law(_OPERAD)
def merging_with_nothing_changes_nothing(merge: Operation, window: ContextWindow) -> None:
    """A new window of the same budget and counter is the unit of merge, on either side."""
    agree(merge(window, new_window_like(window)), window)
    agree(merge(new_window_like(window), window), window)


@law(_OPERAD)
def merging_is_associative_in_what_is_said(
    merge: Operation,
    window: ContextWindow,
    other_window: ContextWindow,
    third_window: ContextWindow,
) -> None:
    """``(a · b) · c`` and ``a · (b · c)`` have the same content and classes, or both are refused.

    Ids may differ, since turns whose id is taken get a new one.
    """
    left, right = _merge_both_ways(merge, window, other_window, third_window)
    agree(_contents(left), _contents(right))


@law(_OPERAD)
def merging_is_associative(
    merge: Operation,
    window: ContextWindow,
    other_window: ContextWindow,
    third_window: ContextWindow,
) -> None:
    """``(a · b) · c`` and ``a · (b · c)`` have the same turns, ids included.

    This holds if no two of the three windows share an id.
    """
    three = [
        _rename_turns(each, prefix)
        for each, prefix in ((window, "a"), (other_window, "b"), (third_window, "c"))
    ]
    left, right = (
        each if isinstance(each, type) else each.all_turns()
        for each in _merge_both_ways(merge, *three)
    )
    agree(left, right)


def _rename_turns(window: ContextWindow, prefix: str) -> ContextWindow:
    """Return a new window with the turns of `window` under new ids."""
    renamed = new_window_like(window)
    for turn in window.all_turns():
        renamed = renamed.append(
            evolve(turn, resource_id=f"{prefix}-{turn.resource_id}"), window.class_of(turn)
        )
    return renamed


def _merge_both_ways(
    merge: Operation, a: ContextWindow, b: ContextWindow, c: ContextWindow
) -> tuple[Outcome, Outcome]:
    def then(*pair: Outcome) -> Outcome:
        refusals = (each for each in pair if isinstance(each, type))
        return next(refusals, None) or outcome(merge, *pair)

    return then(then(a, b), c), then(a, then(b, c))


@law(_OPERAD)
def merging_keeps_every_turn(
    merge: Operation, window: ContextWindow, other_window: ContextWindow
) -> None:
    """A merged window has the content of the first window, then that of the second.

    Classes are kept, and every turn has an id of its own.
    """
    merged = outcome(merge, window, other_window)
    if isinstance(merged, type):
        holds(bool(window.open_calls), "refused only while calls of the first are open", merged)
        return
    said = [*_contents(window), *_contents(other_window)]
    agree(_contents(merged), said)
    agree(len({turn.resource_id for turn in merged.all_turns()}), len(said))
