"""The laws of the operad of windows: composition, arities, and merging."""

from collections.abc import Sequence
from itertools import chain, cycle, islice
from typing import Any

from attrs import evolve

from polycontext.linearity import InvalidOptionError, PolycontextError
from polycontext.linearity.law import agree, holds, law, outcome
from polycontext.window import ContextWindow

from ..algebra.operad import Operation
from .machines import new_window_like

_OPERAD = "May, The Geometry of Iterated Loop Spaces"


Made = ContextWindow | type[Exception]
"""The window that an operation makes, or the kind of error with which it refuses."""


def _said(made: Made) -> Any:
    """Return what a window says, in which classes, whatever its ids."""
    if isinstance(made, type):
        return made
    return [(turn.role, turn.content, turn.tool_calls, turn.tool_call_id, made.class_of(turn)) for turn in made.all_turns()]


@law(_OPERAD)
def composing_with_identities_changes_nothing(identity: Operation, operation: Operation, window: ContextWindow) -> None:
    """``id.compose(o)`` and ``o.compose(id, ..., id)`` do what ``o`` does."""
    windows = [window] * operation.arity
    expected = outcome(operation, *windows)
    agree(outcome(identity.compose(operation), *windows), expected)
    agree(outcome(operation.compose(*[identity] * operation.arity), *windows), expected)


@law(_OPERAD)
def composing_is_associative(operation: Operation, operations: Sequence[Operation], window: ContextWindow) -> None:
    """Composing inside first or outside first is one operation: ``o.compose(*i).compose(*j) = o.compose(i1.compose(..), ..)``."""
    pool = cycle(operations)
    inner = list(islice(pool, operation.arity))
    groups = [list(islice(pool, each.arity)) for each in inner]
    outside_first = operation.compose(*inner).compose(*chain.from_iterable(groups))
    inside_first = operation.compose(*(each.compose(*group) for each, group in zip(inner, groups, strict=True)))
    windows = [window] * outside_first.arity
    agree(outside_first.arity, inside_first.arity)
    agree(outcome(outside_first, *windows), outcome(inside_first, *windows))


@law(_OPERAD)
def arities_add_up(operation: Operation, operations: Sequence[Operation]) -> None:
    """The arity of a composite is the sum of the arities inside."""
    inner = list(islice(cycle(operations), operation.arity))
    agree(operation.compose(*inner).arity, sum(each.arity for each in inner))


@law(_OPERAD)
def an_operation_takes_as_many_windows_as_its_arity(operation: Operation, window: ContextWindow) -> None:
    """Any other number of windows, or of operations to compose with, raises `InvalidOptionError`."""
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
    merge: Operation, window: ContextWindow, other_window: ContextWindow, third_window: ContextWindow
) -> None:
    """``(a · b) · c`` says what ``a · (b · c)`` says, in the same classes, or both are refused; ids that are taken are given anew."""
    left, right = _merged(merge, window, other_window, third_window)
    agree(_said(left), _said(right))


@law(_OPERAD)
def merging_is_associative(merge: Operation, window: ContextWindow, other_window: ContextWindow, third_window: ContextWindow) -> None:
    """``(a · b) · c`` and ``a · (b · c)`` have the same turns, ids included, if no two of the three share an id."""
    three = [_renamed(each, prefix) for each, prefix in ((window, "a"), (other_window, "b"), (third_window, "c"))]
    left, right = (each if isinstance(each, type) else each.all_turns() for each in _merged(merge, *three))
    agree(left, right)


def _renamed(window: ContextWindow, prefix: str) -> ContextWindow:
    """Return the turns of a window in a new one, under ids of their own."""
    renamed = new_window_like(window)
    for turn in window.all_turns():
        renamed = renamed.append(evolve(turn, resource_id=f"{prefix}-{turn.resource_id}"), window.class_of(turn))
    return renamed


def _merged(merge: Operation, a: ContextWindow, b: ContextWindow, c: ContextWindow) -> tuple[Made, Made]:
    def then(first: Made, second: Made) -> Made:
        return first if isinstance(first, type) else second if isinstance(second, type) else outcome(merge, first, second)

    return then(then(a, b), c), then(a, then(b, c))


@law(_OPERAD)
def merging_keeps_every_turn(merge: Operation, window: ContextWindow, other_window: ContextWindow) -> None:
    """A merged window says what the first says and then what the second says, in their classes, each under an id of its own."""
    merged = outcome(merge, window, other_window)
    if isinstance(merged, type):
        holds(bool(window.open_calls), "refused only while calls of the first are open", merged)
        return
    said = [*_said(window), *_said(other_window)]
    agree(_said(merged), said)
    agree(len({turn.resource_id for turn in merged.all_turns()}), len(said))
