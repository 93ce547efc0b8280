"""The laws of the operad of windows."""

from collections.abc import Sequence
from itertools import chain, cycle, islice
from typing import Any

from attrs import evolve

from polycontext.base import InvalidOptionError, PolycontextError
from polycontext.base.law import agree, holds, law, outcome
from polycontext.window import ContextWindow

from ..algebra.operad import Operation
from ..inputs import ContextInput
from .machines import new_window_like

_POLY = "Niu and Spivak, Polynomial Functors"

Inputs = Sequence[ContextInput]


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
