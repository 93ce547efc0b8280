"""What runs once in a step: the validators that must hold, and the action that changes the view.

python-statemachine would call the validators of every transition that it considers, and the actions
only where they are performed. Guards look at the window that an action leads to, so a step runs the
methods that are marked `once` before they are asked.
"""

from collections.abc import Callable, Iterator
from functools import partial
from inspect import signature
from itertools import groupby
from types import MethodType
from typing import Any, NamedTuple

from statemachine.transition import Transition

from ..inputs import Kind
from ..state import State
from .step import Action, Step

Guard = Callable[[Step], object]


class Duty(NamedTuple):
    """The methods that run before the guards of `rows` are asked, bound; the checks by name.

    The action `is_own` if a user wrote it.
    """

    checks: tuple[tuple[str, Callable[[Any], object]], ...]
    action: Action | None
    is_own: bool
    rows: tuple[Transition, ...]


def duties_in(machine: Any, state: State, kind: Kind) -> tuple[Duty, ...]:
    """Return the duties of an event, in the order in which its transitions are tried."""
    *_, root = (each for each in type(machine).__mro__ if len(getattr(each, "states", ())))
    rows = machine.table.cells[state][kind]
    found = list[Duty]()
    for (checks, action), moves in groupby(rows, partial(_names, machine, root, kind)):
        does = _method(machine, root, action) if action else None
        is_own = does is not None and does.__func__ is not getattr(root, action, None)
        held = tuple((each, _method(machine, root, each)) for each in checks)
        found.append(Duty(held, does, is_own, tuple(moves)))
    return tuple(found)


def guards_of(machine: Any, move: Transition) -> tuple[Guard, ...] | None:
    """Return the guards of a transition, None if one is no method of the machine with a step alone.

    Validators that remain, and callbacks of listeners, are none either.
    """
    asked = machine._callbacks
    if [*asked[move.validators.key], *asked[machine.prepare.key]]:
        return None
    guards = [*asked[move.cond.key]]
    if any(each.unique_key != f"{each}@{id(machine)}" for each in guards):
        return None
    methods = tuple(getattr(machine, str(each)) for each in guards)
    takes_step = all(callable(m) and [*signature(m).parameters] == ["step"] for m in methods)
    return methods if takes_step else None


def _method(machine: Any, root: Any, name: str) -> Any:
    """Return a method that takes a step; one of its name that does not, a guard, hides none."""
    method, hidden = getattr(machine, name), getattr(root, name, None)
    takes_step = [*signature(method).parameters] == ["step"]
    return method if takes_step or hidden is None else MethodType(hidden, machine)


def _names(machine: Any, root: Any, kind: Kind, move: Transition) -> tuple[tuple[str, ...], str]:
    """Return the names of the validators and the action of a transition.

    One that a subclass declares for a built-in event has those of the event, too; without them a
    turn would be lost. Each transition has `in_order`.
    """
    cells = root.table.cells.values()
    moves = [*[cell[kind][0] for cell in cells if kind in cell][:1], move]
    checks = [each for one in moves for each in _once(machine, one.validators)]
    actions = [each for one in moves for each in _once(machine, one.on)]
    first = ["in_order"] if "in_order" in machine.once else []
    return tuple(dict.fromkeys([*first, *checks])), actions[-1] if actions else ""


def _once(machine: Any, specs: Any) -> Iterator[str]:
    return (name for name in map(str, specs) if name in machine.once)


def withdraw(machine: Any) -> None:
    """Take the methods that run once from those that python-statemachine calls."""
    for state in machine.states_map.values():
        for move in state.transitions:
            for specs in (move.validators, move.on):
                items = machine._callbacks[specs.key].items
                for each in [each for each in items if str(each) in machine.once]:
                    items.remove(each)
